/**
 * Showing anew what is looked at again and again, without taking away what somebody does with it.
 */

/** What a container shows, as JSON. */
const shown = new WeakMap();

/**
 * Fills a container by `build` if its data has changed. The focus and the scrolled tables stay: a
 * link is known by its address, a table by its name.
 *
 * @param {function} build the container's children
 */
export function fill(container, data, build) {
  const text = JSON.stringify(data);
  if (shown.get(container) === text) return;
  shown.set(container, text);
  const focused = container.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  const tables = () => container.querySelectorAll(".wide");
  const scrolled = new Map([...tables()].map((each) => [keyOf(each), each.scrollLeft]));
  container.replaceChildren(...build());
  for (const each of tables()) each.scrollLeft = scrolled.get(keyOf(each)) ?? 0;
  if (focused === null) return;
  const candidates = [...container.querySelectorAll("a, .wide")];
  candidates.find((each) => keyOf(each) === focused)?.focus({ preventScroll: true });
}

/** Says a text in a status. The same text again would be said again. */
export const say = (status, text) => fill(status, text, () => [text]);

const keyOf = (made) =>
  made.getAttribute("href") ?? made.querySelector("caption")?.textContent ?? "";
