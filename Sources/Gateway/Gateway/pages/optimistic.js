/**
 * What the person has just done, shown at once and replaced by the truth.
 *
 * A draft lies over what the gateway says of one thing until the screen has been read with the
 * action in it. A state that comes meanwhile, without the action, cannot take the display back.
 */

import { nextWhole, send } from "./api.js";
import { showProblem } from "./notice.js";

const shortestPause = 3000;
const longestPause = 24_000;
// As long as positions.js remembers an action that is not applied.
const lateMilliseconds = 60_000;

/** In their order. A later one of the same thing lies over an earlier one. */
const drafts = new Set();
/** The lists and singles that are shown. */
const owners = new Set();
/** The pause that all who look again share. */
let turn = null;
let milliseconds = shortestPause;

/** Shows drafts in this list or single until its page is left. */
export function showDrafts(owner, signal) {
  owners.add(owner);
  signal?.addEventListener("abort", () => owners.delete(owner), { once: true });
}

/** The row as it will be. */
export function drafted(key, row) {
  let made = row;
  for (const draft of drafts) {
    // An alarm that was raised since is not what the person saw.
    const isLater = Date.parse(row.raised_at) > draft.time;
    if (draft.key === key && !isLater) made = { ...made, ...draft.change };
  }
  return made;
}

/**
 * Shows a change, sends its action, and shows the truth.
 *
 * @param {string} key of the thing, such as "post/ID"
 * @param {object} change members of the row as they will be
 * @param {object} action of `prepare`
 */
export async function attempt(key, change, action) {
  const draft = { key, change, time: Date.parse(action.headers["Magpie-Time"]) };
  const shown = [...owners];
  drafts.add(draft);
  redraw();
  try {
    await send(action);
    await untilRead(key, shown);
  } catch (problem) {
    showProblem(problem, () => attempt(key, change, action));
  } finally {
    drafts.delete(draft);
    redraw();
  }
}

/** Returns once these have been read with what was done to the thing; if they are left, others. */
function untilRead(key, shown) {
  let isReading = true;
  const isLeft = () => !isReading || !shown.some((owner) => owners.has(owner));
  const others = nextWhole((address) => isLeft() && isShownAt(address, key), lateMilliseconds);
  const own = readTruth(() => Promise.all(shown.map(({ refresh }) => refresh())));
  return Promise.race([others, own.catch(() => {
    isReading = false;
    return others;
  })]);
}

/** Whether a screen waits for the workers that apply what is done to the thing. */
const isShownAt = (address, key) =>
  address.startsWith("/v1/reminder") === key.startsWith("reminder/") && address !== "/v1/settings";

function redraw() {
  for (const owner of owners) owner.redraw();
}

/**
 * Reads until what is read contains what one has just done.
 *
 * @param {function} refresh of a list, a single or several: false if it lacks it
 */
export async function readTruth(refresh) {
  while ([await refresh()].flat().includes(false)) await pause();
  milliseconds = shortestPause;
}

/**
 * Workers that are late do not get faster by questions: all ask together, and less and less, but at
 * once when another look shows that they are late no longer.
 */
function pause() {
  if (turn) return turn;
  turn = nextWhole(() => true, milliseconds * (0.75 + Math.random() / 2))
    .finally(() => (turn = null));
  milliseconds = Math.min(longestPause, 2 * milliseconds);
  return turn;
}
