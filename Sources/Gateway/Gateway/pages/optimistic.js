/**
 * What the person has just done, shown at once and replaced by the truth.
 *
 * A draft lies over what the gateway says of one thing until the screen has been read with the
 * action in it. A state that comes meanwhile, without the action, cannot take the display back.
 */

import { send } from "./api.js";
import { showProblem } from "./notice.js";

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
    // Without an answer the next look shows it.
    await owner.refresh().catch(() => {});
  } catch (problem) {
    showProblem(problem, () => attempt(key, change, action, owner));
  } finally {
    // A later action of the same thing has its own draft.
    if (drafts.get(key) === draft) drafts.delete(key);
    owner.redraw();
  }
}
