/**
 * Whether anybody may be looking at the page.
 *
 * A browser has six connections to a host that does not speak HTTP/2, for all of its tabs. A stream
 * takes one of them, so a tab that nobody looks at has none. The count in its title, and its icon,
 * stay as they are until somebody looks.
 */

// Who only glances at another tab finds the page as it was.
const restMilliseconds = 30_000;

/** Calls `leave` once nobody has looked for a while, and `comeBack` when somebody does again. */
export function watchPresence(leave, comeBack) {
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(leave, restMilliseconds);
    else comeBack();
  };
  document.addEventListener("visibilitychange", look);
  // A page in the back/forward cache has no connections.
  addEventListener("pagehide", leave);
  addEventListener("pageshow", look);
  // Many links may be opened in the background at once.
  if (document.hidden) leave();
}
