/**
 * Looking again at what no stream tells of: now and then while the page is looked at.
 */

/** Calls `look` every so many seconds while the page is visible, and when it becomes visible. */
export function lookAgain(seconds, look, signal) {
  const run = () => {
    if (!document.hidden && navigator.onLine) look();
  };
  const timer = setInterval(run, seconds * 1000);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  document.addEventListener("visibilitychange", run, { signal });
  addEventListener("online", run, { signal });
}
