/**
 * What the person has just done, shown at once and replaced by the truth.
 *
 * A draft lies over what the gateway says of one thing until the screen has been read with the
 * action in it. A state that comes meanwhile, without the action, cannot take the display back.
 */

import { send } from "./api.js";
import { showProblem } from "./notice.js";

const pauseMilliseconds = 3000;
// As long as positions.js remembers an action that is not applied.
const lateMilliseconds = 60_000;

const drafts = new Map();

/** The row as it will be. */
export function drafted(key, row) {
  const draft = drafts.get(key);
  return draft ? { ...row, ...draft.change } : row;
}

/**
 * Shows a change, sends its action, and shows the truth.
 *
 * @param {string} key of the thing, such as "post/ID"
 * @param {object} change members of the row as they will be
 * @param {object} action of `prepare`
 * @param {{redraw: function, refresh: function}} owner shows the row
 */
export async function attempt(key, change, action, owner) {
  const draft = { change: { ...drafts.get(key)?.change, ...change } };
  drafts.set(key, draft);
  owner.redraw();
  try {
    await send(action);
    await readTruth(owner.refresh);
  } catch (problem) {
    showProblem(problem, () => attempt(key, change, action, owner));
  } finally {
    // A later action of the same thing has its own draft.
    if (drafts.get(key) === draft) drafts.delete(key);
    owner.redraw();
  }
}

/**
 * Reads until what is read contains what one has just done.
 *
 * @param {function} refresh of a list, a single or several: false if it lacks it
 */
export async function readTruth(refresh) {
  let isLate = false;
  try {
    while ([await refresh()].flat().includes(false)) {
      isLate = true;
      await pause(pauseMilliseconds);
    }
  } catch {
    // Without an answer the next look shows it. Whoever goes to another page while workers are late
    // finds there what they did.
    if (isLate) await pause(lateMilliseconds);
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
