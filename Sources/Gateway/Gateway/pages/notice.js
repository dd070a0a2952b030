/**
 * Short notices above the page: what did not work, with the next step, and what is new.
 */

import { button, element, theirs } from "./dom.js";
import { words } from "./locale.js";

const shownMilliseconds = 10_000;
// Of each kind: what is new never takes the place of what did not work.
const most = 3;

// Both regions exist before they are filled: screen readers watch them from then on.
const quiet = element("div", { class: "hidden", role: "status", "aria-live": "polite" });
const stack = element("div", { class: "notices", role: "region", "aria-live": "polite" });

/** The regions, once, for the page's body. */
export function noticeRegions() {
  stack.setAttribute("aria-label", words("notices"));
  return [quiet, stack];
}

/** Says a text to screen readers only. */
export function announce(text, properties = {}) {
  quiet.replaceChildren(element("p", { dir: "auto", ...properties }, text));
}

/** Shows a text for a moment, and for as long as somebody is in it. */
export function say(...children) {
  const notice = show(element("div", { class: "notice" }, ...children));
  const remove = () => {
    if (notice.matches(":hover, :focus-within")) setTimeout(remove, shownMilliseconds);
    else notice.remove();
  };
  setTimeout(remove, shownMilliseconds);
}

/**
 * Shows a problem until it is dismissed. Returns what dismisses it.
 *
 * @param {Error} error a `Problem`; an abort is none
 * @param {function} [again] what "Try again" does
 * @param {{text: string, discard: function}} [kept] what is nowhere else: later ones leave it there
 */
export function showProblem(error, again = null, kept = null) {
  if (error.name === "AbortError") return () => {};
  const dismiss = () => notice.remove();
  const giveUp = () => {
    dismiss();
    kept?.discard();
  };
  const repeat = () => {
    dismiss();
    again();
  };
  const notice = show(
    element(
      "div",
      {
        class: kept ? "notice problem kept" : "notice problem", role: "alert",
        onkeydown: (event) => event.key === "Escape" && dismiss(),
      },
      element("p", {}, error.words ?? words("problem-internal-error")),
      kept?.text ? theirs(kept.text, "p", { class: "text" }) : null,
      element(
        "div", { class: "actions" },
        again ? button(words("again"), repeat) : null,
        button(words(kept ? "discard" : "dismiss"), giveUp, { class: "plain" }))));
  return dismiss;
}

function show(notice) {
  stack.append(notice);
  for (const kind of [".notice:not(.problem)", ".problem:not(.kept)"]) {
    const shown = [...stack.querySelectorAll(kind)];
    for (const oldest of shown.slice(0, -most)) oldest.remove();
  }
  return notice;
}
