/**
 * Replacing elements without taking away what somebody is doing with them.
 */

import { element } from "./dom.js";
import { words } from "./locale.js";

/** Replaces an element by its new state, with the focus and what was open. */
export function exchange(before, made) {
  const focused = before.contains(document.activeElement) ? document.activeElement : null;
  const isOpen = before.querySelector("details")?.open ?? false;
  before.replaceWith(made);
  const details = made.querySelector("details");
  if (details) details.open = isOpen;
  if (!focused) return;
  const action = focused.closest("[data-action]")?.dataset.action;
  // A row that is hidden takes no focus, and its menu has no action any more.
  const same = action ? made.querySelector(`[data-action="${action}"]`) : null;
  if (!takesFocus(same)) passFocus(made);
}

/** Gives the focus to the row, else to the next visible one, else to the page's heading. */
function passFocus(row) {
  for (let next = row; next; next = next.nextElementSibling) {
    const link = '[data-action="open"], [data-action="person"]';
    if (takesFocus(next.querySelector(link))) return;
  }
  takesFocus(document.querySelector("h1"));
}

function takesFocus(made) {
  made?.focus({ preventScroll: true });
  return made !== null && document.activeElement === made;
}

/** Makes these the children of a container. Those that are there already keep their places. */
export function place(container, wanted) {
  const isWanted = new Set(wanted);
  for (const child of [...container.children]) if (!isWanted.has(child)) child.remove();
  let position = container.firstElementChild;
  for (const made of wanted) {
    if (made === position) position = position.nextElementSibling;
    else container.insertBefore(made, position);
  }
}

/** Makes a change above a row, which stays in its place. At a page's top browsers would move it. */
export function hold(row, change) {
  const before = row?.getBoundingClientRect().top;
  change();
  const moved = row?.isConnected ? row.getBoundingClientRect().top - before : 0;
  if (moved !== 0) scrollBy(0, moved);
}

/** Where rows will be, while they are read for the first time. */
export function skeleton() {
  const bone = () => element("div", { class: "bone", "aria-hidden": "true" });
  return element(
    "div", { class: "skeleton", role: "status" },
    element("span", { class: "hidden" }, words("loading")), bone(), bone(), bone());
}
