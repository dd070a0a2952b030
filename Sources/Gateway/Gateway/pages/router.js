/**
 * From an address to its page, with the History API. Each page has a signal that ends when it is
 * left.
 */

let table = [];
let show = () => {};
let scope = new AbortController();
/** Ends when the page is where it was left, or is scrolled otherwise. */
let restoring = AbortSignal.abort();
let stopRestoring = () => {};

// Who waits for longer has begun to read.
const restoringMilliseconds = 10_000;

/**
 * Shows the page of the address now, and of each later one.
 *
 * @param {[string, function][]} pages templates such as "/post/:post", and what makes their pages
 * @param {function} display called with a page's function, its parameters and its signal
 */
export function startRouter(pages, display) {
  table = pages.map(([template, page]) => ({ parts: template.split("/"), page }));
  show = display;
  // The browser's own comes too early for rows that are yet to be read.
  history.scrollRestoration = "manual";
  addEventListener("popstate", openAsLeft);
  addEventListener("scrollend", () => {
    if (restoring.aborted) history.replaceState({ ...history.state, top: scrollY }, "");
  });
  document.addEventListener("click", followLink);
  openAsLeft();
}

/**
 * Goes to a page of these.
 *
 * @param {boolean} [isInstead] whether it takes the place of the present one in the history
 */
export function go(address, isInstead = false) {
  const isSame = address === location.pathname + location.search + location.hash;
  const depth = history.state?.depth ?? 0;
  if (isSame || isInstead) history.replaceState({ depth }, "", address);
  else {
    history.replaceState({ depth, top: scrollY }, "");
    history.pushState({ depth: depth + 1 }, "", address);
  }
  open();
  scrollTo(0, 0);
}

/** Scrolls to the end of a page that begins there. */
export function scrollToEnd() {
  stopRestoring();
  requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight));
}

/** Follows a link back: to the page from which one came, if it was one of these. */
export function goBack(event) {
  if (!history.state?.depth) return;
  event.preventDefault();
  history.back();
}

/** Shows the page of an address to which somebody has come back. */
function openAsLeft() {
  open();
  scrollBack(history.state?.top ?? 0);
}

/** Scrolls to where the page was left, as far as its rows are there; unless one does so oneself. */
function scrollBack(top) {
  scrollTo(0, top);
  if (top === 0) return;
  const over = new AbortController();
  const limit = AbortSignal.timeout(restoringMilliseconds);
  restoring = AbortSignal.any([over.signal, scope.signal, limit]);
  stopRestoring = () => over.abort();
  let highest = 0;
  const observer = new ResizeObserver(() => {
    const height = document.documentElement.scrollHeight;
    // A list that drops its first rows for others grows no longer.
    if (height <= highest) return;
    highest = height;
    // The end of a list in view reads further rows.
    scrollTo(0, top);
    if (height - innerHeight >= top) stopRestoring();
  });
  observer.observe(document.body);
  restoring.addEventListener("abort", () => observer.disconnect(), { once: true });
  for (const type of ["wheel", "pointerdown", "keydown"]) {
    addEventListener(type, stopRestoring, { signal: restoring, passive: true });
  }
}

/** Shows the page again, as after a change of the language. */
export function open() {
  scope.abort();
  scope = new AbortController();
  const parts = location.pathname.split("/");
  for (const { parts: template, page } of table) {
    const parameters = match(template, parts);
    if (parameters) return show(page, parameters, scope.signal);
  }
  return show(null, {}, scope.signal);
}

function match(template, parts) {
  if (template.length !== parts.length) return null;
  const parameters = {};
  for (const [index, part] of template.entries()) {
    if (part.startsWith(":")) {
      try {
        parameters[part.slice(1)] = decodeURIComponent(parts[index]);
      } catch {
        return null;
      }
      if (parts[index] === "") return null;
    } else if (part !== parts[index]) return null;
  }
  return parameters;
}

/** Links of these pages are followed here; new tabs and other sites are the browser's. */
function followLink(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.target || link.origin !== location.origin) return;
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
}
