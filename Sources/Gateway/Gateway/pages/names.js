/**
 * Names as alarms show them, too (DisplayText.swift): without characters that turn the words around
 * them, or that nobody sees.
 */

// What joins emoji and letters, or chooses their form, has no effect anywhere else.
const joiners = "\\u200c\\u200d\\u{e0020}-\\u{e007f}";
const joining = `${joiners}\\ufe0e\\ufe0f`;
// A fifth mark, with what joins between them.
const moreMarks = new RegExp(`((?:\\p{M}[${joiners}]*){4})(?:[${joiners}]*\\p{M})+`, "gu");
const unseen = new RegExp(`(?![${joining}])[\\p{DI}\\p{Cc}\\p{Cf}]`, "gu");

/**
 * The name without them, and with at most four marks on a letter; empty if nothing of it can be
 * seen.
 */
export function cleaned(name) {
  const text = (name ?? "").normalize("NFC")
    .replace(/\ufeff/gu, "").replace(/[\s\u0085\u2800]+/gu, " ").replace(unseen, "")
    .replace(/^[\s\p{M}\p{EMod}]+/u, "").replace(moreMarks, "$1").trim();
  return /[^\s\p{DI}\p{M}]/u.test(text) ? text : "";
}
