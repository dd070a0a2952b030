/**
 * The times of actions: by the gateway's clock as far as this device's is wrong, and each later
 * than the one before. Of two events about one thing the later wins.
 */

// Answers say seconds only, and are on their way for a while.
const tolerance = 3000;
let correction = 0;
let last = 0;

/** Compares this device's clock with the `Date` of an answer that has just come. */
export function noteServerTime(text) {
  const server = Date.parse(text ?? "");
  if (Number.isNaN(server)) return;
  const difference = server - Date.now();
  correction = Math.abs(difference) > tolerance ? difference : 0;
}

/** The time by the gateway's clock, as far as this device's is wrong; in milliseconds. */
export const now = () => Date.now() + correction;

/**
 * The time of an action that happens now, RFC 3339.
 *
 * @param {string} [notBefore] the time of something shown, which "up to now" must include: what
 *   other people's clocks said may be ahead of ours by a little
 */
export function actionTime(notBefore) {
  const shown = notBefore ? Date.parse(notBefore) + 1 : 0;
  last = Math.max(now(), shown || 0, last + 1);
  return new Date(last).toISOString();
}
