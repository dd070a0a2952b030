/**
 * What was just written, shown in its list while it is on its way, and after it could not be sent.
 *
 * It belongs to the address of the list, not to the page: who leaves and comes back finds it.
 */

import { contains, send } from "./api.js";
import { button, element } from "./dom.js";
import { words } from "./locale.js";
import { showProblem } from "./notice.js";
import { readTruth } from "./optimistic.js";
import { drop, keep, unanswered } from "./outbox.js";
import { signOut } from "./session.js";

// What was never read with it by then has no row, or has had one.
const longestMilliseconds = 600_000;

/** By the list's address: elements, each with the answer and its time once it is stored. */
const waiting = new Map();
/** The list that is shown, by its address. */
const lists = new Map();

/** Shows what is on its way to `address` in this list until its page is left. */
export function showPending(address, list, signal) {
  lists.set(address, list);
  signal?.addEventListener("abort", () => {
    if (lists.get(address) === list) lists.delete(address);
  }, { once: true });
}

/** Drops what a first page would show, and what waited for too long. */
export function dropPending(address, page) {
  const items = waiting.get(address) ?? [];
  for (const item of items) {
    const isOld = item.storedAt < Date.now() - longestMilliseconds;
    if (item.answer && (isOld || contains(page, item.answer))) items.delete(item);
  }
}

/** The elements of what is on its way to `address`, without those whose rows are there. */
export function pendingElements(address, keys) {
  const items = waiting.get(address) ?? [];
  for (const item of items) if (keys.has(item.answer?.id)) items.delete(item);
  return [...items].map(({ made }) => made);
}

/** Sends what was under way, or waited to be sent again, when the page was left. */
export function sendUnanswered() {
  for (const action of unanswered()) sendKept(action);
}

async function sendKept(action) {
  try {
    await send(action);
    // What is done with the token from now on would be a new person's.
    if (action.address === "/v1/me") signOut();
  } catch (problem) {
    if (!problem.isFinal) keep(action);
    const again = problem.isFinal ? null : () => sendKept(action);
    showProblem(problem, again, { text: writtenIn(action), discard: () => drop(action) });
  }
}

function writtenIn({ body = "{}" }) {
  const { title, caption, text, memo, bio } = JSON.parse(body);
  return [title, caption, text, memo, bio].filter(Boolean).join("\n");
}

/**
 * Shows an element in a list until the list has been read with the row that the action creates.
 *
 * @param {object} list of `createList`; its `takeBack(body)` puts a refused body back into the form
 * @param {HTMLElement} made the row as it will be
 * @param {object} action of `prepare`; sent again it creates the same row
 */
export async function sendShown({ address, refresh }, made, action) {
  const items = waiting.get(address) ?? new Set();
  waiting.set(address, items);
  const item = { made, answer: null, storedAt: 0 };
  const state = element("p", { class: "state", role: "status" });
  let dismiss = () => {};
  made.classList.add("pending");
  made.append(state);
  await attempt();

  async function attempt() {
    dismiss();
    state.replaceChildren(words("sending"));
    items.add(item);
    redraw();
    try {
      item.answer = await send(action);
      item.storedAt = Date.now();
    } catch (problem) {
      return fail(problem);
    }
    state.replaceChildren(words("sent"));
    redraw();
    // Where nothing can be read now, the next look at the list finds it.
    if (lists.has(address)) await readTruth(readAll).catch(() => {});
  }

  /** The page may have been left, and be shown anew. */
  async function readAll() {
    const now = lists.get(address)?.refresh ?? refresh;
    const [, isWhole] = await Promise.all([refresh().catch(() => {}), now()]);
    return isWhole;
  }

  function fail(problem) {
    // Until it is sent or given up, a reload sends it.
    if (!problem.isFinal) keep(action);
    const next = problem.isFinal
      ? button(words("edit"), edit, { "data-action": "edit" }) : button(words("again"), attempt);
    const { top, bottom } = made.getBoundingClientRect();
    const isInView = bottom > 0 && top < innerHeight;
    state.replaceChildren(
      problem.words, " ", next, button(words("discard"), remove, { class: "plain" }));
    // It has grown. Who has scrolled away meanwhile stays there.
    if (isInView) made.scrollIntoView({ block: "nearest" });
    if (!lists.has(address)) dismiss = showProblem(problem, problem.isFinal ? null : attempt);
  }

  function edit() {
    remove();
    lists.get(address)?.takeBack(JSON.parse(action.body));
  }

  function remove() {
    dismiss();
    drop(action);
    items.delete(item);
    redraw();
  }

  function redraw() {
    lists.get(address)?.redraw();
  }
}
