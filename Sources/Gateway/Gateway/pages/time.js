/**
 * Times as people say them: "5 minutes ago", and a date when it is long ago. They are kept right.
 */

import { element } from "./dom.js";
import { locale } from "./locale.js";

const units = [
  ["second", 60], ["minute", 60], ["hour", 24], ["day", 7],
];

/** A `<time>` of a moment, RFC 3339. */
export function timeOf(moment) {
  return element(
    "time", { datetime: moment, title: wholeTime(moment), "data-relative": "" }, relative(moment));
}

/** The moment with its date, in this device's time zone. */
export function wholeTime(moment) {
  return format(new Date(moment), { dateStyle: "full", timeStyle: "short" });
}

/** A local time without a zone, such as "2026-11-23T07:00:00", as it is. */
export function localTime(text) {
  const options = { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" };
  return format(new Date(`${text}Z`), options);
}

/** A date, without the time of day. */
export const dateOf = (moment) => format(new Date(moment), { dateStyle: "medium" });

/** Corrects all relative times of the page, twice a minute. */
export function keepTimes() {
  setInterval(() => {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("time[data-relative]")) {
      const text = relative(time.dateTime);
      if (time.textContent !== text) time.textContent = text;
    }
  }, 30_000);
}

function relative(moment) {
  // Somebody's clock may be ahead of ours by a little.
  let value = Math.min(0, (Date.parse(moment) - Date.now()) / 1000);
  const name = new Intl.RelativeTimeFormat(locale(), { numeric: "auto" });
  for (const [unit, size] of units) {
    if (value > -size) return name.format(Math.trunc(value), unit);
    value /= size;
  }
  return dateOf(moment);
}

function format(date, options) {
  if (Number.isNaN(date.getTime())) return "";
  return new Intl.DateTimeFormat(locale(), options).format(date);
}
