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
/** The pause that all who look again share, the length of the next one, and how many look. */
let turn = null;
let milliseconds = shortestPause;
let looking = 0;

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
  drafts.add(draft);
  redraw();
  try {
    await send(action);
    await untilRead(key);
    supersede(draft);
  } catch (problem) {
    showProblem(problem, () => attempt(key, change, action));
  } finally {
    drafts.delete(draft);
    redraw();
  }
}

/** What was read replaces what earlier drafts say of the same, too. */
function supersede(draft) {
  for (const earlier of drafts) {
    if (earlier === draft) return;
    if (earlier.key !== draft.key) continue;
    const kept = Object.entries(earlier.change).filter(([name]) => !(name in draft.change));
    earlier.change = Object.fromEntries(kept);
  }
}

/** Returns once all that is shown has been read with what was done, or after a minute. */
async function untilRead(key) {
  let isOver = false;
  const isConcerned = ({ address }) => isShownAt(address, key);
  async function look() {
    while (!isOver) {
      const shown = [...owners].filter(isConcerned);
      try {
        if (shown.length > 0) {
          return await readTruth(() => Promise.all(shown.map(({ refresh }) => refresh())));
        }
        return await nextWhole((address) => isShownAt(address, key), lateMilliseconds);
      } catch {
        // If the page was left, another one may show the thing.
        if (shown.some((owner) => owners.has(owner))) await pause();
      }
    }
  }
  const limit = new Promise((resolve) => setTimeout(resolve, lateMilliseconds));
  await Promise.race([limit, whileLooking(look)]);
  isOver = true;
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
export function readTruth(refresh) {
  return whileLooking(async () => {
    while ([await refresh()].flat().includes(false)) await pause();
    milliseconds = shortestPause;
  });
}

/** Whoever begins to look while nobody does begins with the shortest pause. */
async function whileLooking(look) {
  if (looking === 0) milliseconds = shortestPause;
  looking += 1;
  try {
    await look();
  } finally {
    looking -= 1;
  }
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
