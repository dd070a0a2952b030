/**
 * The pages' own language: en, ko, th or ar; and the person's locale for dates and numbers.
 */

import { languages, texts } from "./texts.js";

let tag = "en";
let language = "en";

/**
 * Chooses the first of the person's locales that the pages have.
 *
 * @param {string|null} [preferred] of the profile, such as "ko-KR"
 */
export function setLocale(preferred) {
  const candidates = [preferred, ...navigator.languages, "en"].filter(isTag);
  tag = candidates.find((candidate) => languages.includes(languageOf(candidate))) ?? "en";
  language = languageOf(tag);
  document.documentElement.lang = language;
  document.documentElement.dir = language === "ar" ? "rtl" : "ltr";
}

/** The locale for dates, numbers and names of languages. */
export const locale = () => tag;

/**
 * A text of the pages in the person's language; the name itself if there is none.
 *
 * @param {object} values of the text's `{name}`s
 */
export function words(name, values = {}) {
  const text = texts[name]?.[languages.indexOf(language)] ?? name;
  return text.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}

/** A number as the person writes it. */
export const number = (value) => new Intl.NumberFormat(tag).format(value);

/** A number on a badge: at most "99+". `isMore`: there may be more than `value`. */
export const badgeNumber = (value, isMore = false) =>
  (value > 99 ? `${number(99)}+` : `${number(value)}${isMore ? "+" : ""}`);

const languageOf = (candidate) => new Intl.Locale(candidate).language;

function isTag(candidate) {
  try {
    return Boolean(candidate) && Intl.getCanonicalLocales(candidate).length === 1;
  } catch {
    return false;
  }
}
