/**
 * A menu behind "⋯": what is done to a thing less often.
 */

import { button, element } from "./dom.js";
import { icon } from "./icons.js";
import { words } from "./locale.js";

/**
 * @param {...(HTMLElement|null)} choices buttons; null leaves one out
 */
export function menu(...choices) {
  const summary = element(
    "summary",
    { "aria-label": words("moreActions"), title: words("moreActions"), "data-action": "menu" },
    icon("more"));
  const list = element("div", { class: "choices" }, ...choices);
  const made = element("details", { class: "menu" }, summary, list);
  const close = () => (made.open = false);
  // Before the choice: it may replace this menu by one that is open and has the focus if this one
  // is and has.
  list.addEventListener("click", () => {
    summary.focus({ preventScroll: true });
    close();
  }, { capture: true });
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    close();
    summary.focus();
  });
  // A click anywhere else closes it; a menu that was replaced meanwhile no longer listens.
  const outside = (event) => {
    if (made.open && made.isConnected && made.contains(event.target)) return;
    close();
    document.removeEventListener("click", outside);
  };
  made.addEventListener("toggle", () => made.open && document.addEventListener("click", outside));
  return made;
}

/** A choice of a menu. */
export const choice = (name, text, onclick, properties = {}) =>
  button([icon(name), element("span", {}, text)], onclick, properties);
