/**
 * From an address to its page, with the History API. Each page has a signal that ends when it is
 * left.
 */

let table = [];
let show = () => {};
let scope = new AbortController();

/**
 * Shows the page of the address now, and of each later one.
 *
 * @param {[string, function][]} pages templates such as "/post/:post", and what makes their pages
 * @param {function} display called with a page's function, its parameters and its signal
 */
export function startRouter(pages, display) {
  table = pages.map(([template, page]) => ({ parts: template.split("/"), page }));
  show = display;
  addEventListener("popstate", () => {
    open();
    scrollBack(history.state?.top ?? 0, scope.signal);
  });
  document.addEventListener("click", followLink);
  open();
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

/** Follows a link back: to the page from which one came, if it was one of these. */
export function goBack(event) {
  if (!history.state?.depth) return;
  event.preventDefault();
  history.back();
}

/** Scrolls to where the page was left, once its rows are there; unless one scrolls by oneself. */
function scrollBack(top, signal) {
  if (top === 0) return;
  const observer = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight - innerHeight < top) return;
    scrollTo(0, top);
    observer.disconnect();
  });
  observer.observe(document.body);
  const stop = () => observer.disconnect();
  for (const type of ["wheel", "touchstart", "keydown"]) {
    addEventListener(type, stop, { signal, passive: true });
  }
  signal.addEventListener("abort", stop, { once: true });
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
