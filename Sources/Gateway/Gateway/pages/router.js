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
  addEventListener("popstate", () => open());
  document.addEventListener("click", followLink);
  open();
}

/** Goes to a page of these. */
export function go(address) {
  const isSame = address === location.pathname + location.search + location.hash;
  history[isSame ? "replaceState" : "pushState"](null, "", address);
  open();
  scrollTo(0, 0);
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
