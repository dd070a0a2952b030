/**
 * Repeats what could not be read, or told.
 */

import { Problem } from "./problem.js";

/** What could not be read, with what reads it again. */
const failed = new Map();

/**
 * Calls `action`, and `again` with a later sign of life of the stream if it could not read. The
 * stream tells of a change only once. Its signs come every 15 s, and when the network is back.
 *
 * @param key of the action: only its last failure counts
 */
export async function run(key, action, again) {
  failed.delete(key);
  try {
    await action();
  } catch (error) {
    if (error instanceof Problem) {
      if (error.isTemporary || error.code === "internal-error") failed.set(key, again);
    } else if (error.name !== "AbortError") {
      // A page's mistake is not the stream's.
      reportError(error);
    }
  }
}

/**
 * What tells the gateway of a value with `action`, once, until another one comes. If it could not
 * be told, `again` is called as by `run`, and may tell it once more.
 */
export function oncePerValue(again) {
  let told = "";
  return (value, action) => {
    if (value === told) return;
    told = value;
    run(again, () => action().catch((problem) => {
      told = "";
      throw problem;
    }), again);
  };
}

/** Reads again what could not be read. */
export function runFailed() {
  const actions = [...failed.values()];
  failed.clear();
  for (const again of actions) again();
}
