/**
 * Writing: a field that grows, sent with Enter, and the people whom a text mentions.
 */

import { element, iconButton } from "./dom.js";
import { icon } from "./icons.js";
import { words } from "./locale.js";

const mostMentions = 100;
const mostBytes = 128;

/** The ids after "@" in a text, each once. */
export function mentionsIn(text) {
  // \p{M}: Thai vowels, Arabic and other marks are parts of words, too.
  const mentions = text.matchAll(/(?<![\p{L}\p{M}\p{N}_])@([\p{L}\p{M}\p{N}_.-]+)/gu);
  const ids = [...mentions].map(([, id]) => id.replace(/[.-]+$/, ""));
  return [...new Set(ids)].filter(isID).slice(0, mostMentions);
}

/** A longer text after "@" names nobody, and the API refuses it. */
const isID = (text) => text !== "" && new TextEncoder().encode(text).length <= mostBytes;

/** Puts what was refused back into a form's fields, before what was written there since. */
export function putBack(body, form) {
  const inputs = [...form.querySelectorAll("[name]")];
  for (const input of inputs) {
    input.value = [body[input.name], input.value].filter(Boolean).join(" ");
  }
  inputs[0].focus();
}

/**
 * A form of one text. Enter sends it, Shift+Enter begins a line, Escape leaves it.
 *
 * @param {function} onSend called with the text, which is not blank
 * @param {{text?: string, onCancel?: function}} options
 */
export function writingForm(label, onSend, { text = "", onCancel = null } = {}) {
  const area = element("textarea", {
    name: "text", rows: 1, dir: "auto", "aria-label": label, placeholder: label, maxlength: 5000,
    "data-action": "write",
  });
  area.value = text;
  area.addEventListener("keydown", (event) => {
    // Enter while a syllable is being composed chooses it. Safari ends the composition first, and
    // tells by the key code.
    const isComposing = event.isComposing || event.keyCode === 229;
    if (event.key === "Enter" && !event.shiftKey && !isComposing) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "Escape" && onCancel) onCancel();
  });
  const form = element(
    "form",
    {
      class: "writing",
      onsubmit: (event) => {
        event.preventDefault();
        const written = area.value.trim();
        if (written === "") return;
        area.value = "";
        onSend(written);
      },
    },
    area, iconButton(icon("send"), words("send"), null, { type: "submit" }));
  return form;
}
