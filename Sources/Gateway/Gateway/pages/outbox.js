/**
 * Actions without an answer, in this tab's storage: a reload or a discarded tab does not lose them.
 *
 * Sent again they are the same events, by their keys and times.
 */

const storageName = "magpie.outbox";
// The rest of what somebody does while nothing is answered lasts as long as the page.
const most = 50;

/** The actions that nobody has answered, in their order. */
export function unanswered() {
  try {
    return JSON.parse(sessionStorage.getItem(storageName) ?? "[]");
  } catch {
    return [];
  }
}

/** Keeps an action until it is dropped. */
export function keep(action) {
  drop(action);
  store([...unanswered(), action].slice(-most));
}

/** Forgets an action: it was answered, or given up. */
export function drop(action) {
  store(unanswered().filter((kept) => keyOf(kept) !== keyOf(action)));
}

const keyOf = ({ headers }) => headers["Idempotency-Key"];

function store(actions) {
  try {
    sessionStorage.setItem(storageName, JSON.stringify(actions));
  } catch {
    // Without room, they last as long as the page.
  }
}
