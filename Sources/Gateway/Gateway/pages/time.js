/**
 * Times as people say them: "5 minutes ago", and a date when it is long ago. They are kept right.
 */

import { now } from "./clock.js";
import { element } from "./dom.js";
import { locale } from "./locale.js";

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

/** The local time of a zone, as the value of a `datetime-local` field. */
export function localNow(zone) {
  // Swedish dates are ISO 8601's.
  const options = { dateStyle: "short", timeStyle: "short", timeZone: zone };
  return new Intl.DateTimeFormat("sv-SE", options).format(now()).replace(" ", "T");
}

/** A date, without the time of day. */
export const dateOf = (moment) => format(new Date(moment), { dateStyle: "medium" });

/** Corrects all relative times of the page, twice a minute and when somebody looks again. */
export function keepTimes() {
  const correct = () => {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("time[data-relative]")) {
      const text = relative(time.dateTime);
      if (time.textContent !== text) time.textContent = text;
    }
  };
  setInterval(correct, 30_000);
  document.addEventListener("visibilitychange", correct);
}

/** The same rules as those of the sentences (RelativeTime.swift), up to a week. */
function relative(moment) {
  const today = new Date(now());
  // Somebody's clock may be ahead of ours by a little.
  const then = new Date(Math.min(Date.parse(moment), today));
  const name = new Intl.RelativeTimeFormat(locale(), { numeric: "auto" });
  const seconds = (today - then) / 1000;
  if (seconds < 60) return name.format(-Math.trunc(seconds), "second");
  if (seconds < 3600) return name.format(-Math.trunc(seconds / 60), "minute");
  // "Yesterday" is a date, however few hours ago; just after midnight, hours say more.
  const days = dayOf(today) - dayOf(then);
  if (seconds < 6 * 3600 || days < 1) return name.format(-Math.trunc(seconds / 3600), "hour");
  if (days < 7) return name.format(-days, "day");
  return dateOf(moment);
}

/** The number of the date in this device's time zone. */
const dayOf = (date) => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 86_400_000;

function format(date, options) {
  if (Number.isNaN(date.getTime())) return "";
  return new Intl.DateTimeFormat(locale(), options).format(date);
}
