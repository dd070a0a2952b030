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
  const action = focused?.closest("[data-action]")?.dataset.action;
  if (action) made.querySelector(`[data-action="${action}"]`)?.focus({ preventScroll: true });
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

/** Where rows will be, while they are read for the first time. */
export function skeleton() {
  const bone = () => element("div", { class: "bone", "aria-hidden": "true" });
  return element(
    "div", { class: "skeleton", role: "status" },
    element("span", { class: "hidden" }, words("loading")), bone(), bone(), bone());
}
