/**
 * Reminders: what is to come, what rang, and a form for a new one.
 */

import { get, path, prepare, send } from "./api.js";
import { element, field, iconButton, randomID, theirs } from "./dom.js";
import { given, onSubmit } from "./forms.js";
import { icon } from "./icons.js";
import { createList } from "./list.js";
import { subscribe } from "./live.js";
import { words } from "./locale.js";
import { say } from "./notice.js";
import { attempt, drafted } from "./optimistic.js";
import { lookAgain } from "./refresh.js";
import { localNow, localTime } from "./time.js";

const seconds = 30;
const repetitions = [
  ["", "once"], ["FREQ=DAILY", "daily"], ["FREQ=WEEKLY", "weekly"], ["FREQ=MONTHLY", "monthly"],
];

export function remindersPage(parameters, signal) {
  const coming = createList({
    address: "/v1/reminders", label: words("toCome"), signal,
    empty: [icon("clock"), words("noReminders")],
    // The digest has no id.
    keyOf: (row) => `${row.form}/${row.reminder_id}`, build: comingRow,
    present: (row) => drafted(keyOf(row), row),
  });
  const rung = createList({
    address: "/v1/reminder-history", label: words("history"), signal,
    empty: [icon("bell"), words("noHistory")],
    keyOf: (row) => `${row.reminder_id}/${row.local_time}/${row.zone}`, build: rungRow,
  });
  const refresh = () => Promise.all([coming.refresh(), rung.refresh()]);
  const look = () => refresh().catch(() => {});
  look();
  lookAgain(seconds, look, signal);
  // A reminder that rings is an alarm.
  let isFirst = true;
  subscribe("alarms", () => {
    const isNew = !isFirst;
    isFirst = false;
    return isNew ? refresh() : undefined;
  }, signal);
  return {
    title: words("reminders"),
    content: [
      reminderForm(refresh, signal), section(words("toCome"), coming),
      section(words("history"), rung),
    ],
  };
}

const keyOf = (row) => `reminder/${row.form}/${row.reminder_id}`;

function section(title, list) {
  return element("section", { "aria-label": title }, element("h2", {}, title), list.element);
}

function comingRow(row) {
  const cancel = () => {
    const address = row.form === "digest" ? "/v1/digest" : path("/v1/reminders", row.reminder_id);
    attempt(keyOf(row), { is_removed: true }, prepare("DELETE", address));
  };
  const title = row.title || words(row.form);
  const repetition = repetitions.find(([rule]) => rule === row.repeats)?.[1];
  const repeats = row.repeats ? [" · ", repetition ? words(repetition) : row.repeats] : [];
  // When a cycle rings is a surprise.
  const time = row.form === "cycle" ? [] : [localTime(row.local_time), " · ", row.zone];
  const made = reminderRow(row, title, ...time, ...repeats);
  made.append(iconButton(icon("trash"), `${words("cancel")}: ${title}`, cancel, {
    "data-action": "cancel",
  }));
  made.hidden = row.is_removed === true;
  return made;
}

function rungRow(row) {
  const state = row.state === "rung" ? [] : [" · ", words(row.state)];
  return reminderRow(row, row.title, localTime(row.local_time), ...state);
}

function reminderRow(row, title, ...details) {
  return element(
    "li", { class: "row", "data-key": row.reminder_id },
    element(
      "span", { class: "avatar", "aria-hidden": "true" },
      row.symbol ? theirs(row.symbol) : icon("clock")),
    element(
      "div", { class: "about" }, theirs(title, "p", { class: "name" }),
      row.memo ? theirs(row.memo, "p", { class: "text" }) : null,
      element("p", { class: "soft" }, ...details)));
}

function reminderForm(refresh, signal) {
  const device = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hint = element("span", { class: "hint" }, device);
  let ownZone = "";
  // Reminders are in the person's own zone, if they have one.
  get("/v1/settings", { signal }).then((settings) => {
    ownZone = settings.zone ?? "";
    hint.textContent = ownZone || device;
  }).catch(() => {});
  const input = (name, properties) => element("input", { name, dir: "auto", ...properties });
  const repeat = element(
    "select", { name: "repeat" },
    ...repetitions.map(([rule, name]) => element("option", { value: rule }, words(name))));
  const at = element("input", { name: "at", type: "datetime-local", required: true });
  const when = field(words("when"), at);
  when.append(hint);
  const form = element(
    "form", { class: "fields" },
    field(words("title"), input("title", { required: true, maxlength: 128 })),
    field(words("memo"), input("memo", { maxlength: 1000 })),
    field(words("symbol"), input("symbol", { maxlength: 8 })), when,
    field(words("repeats"), repeat),
    element("button", { type: "submit" }, words("add")));
  const details = element(
    "details", { class: "composer" },
    element(
      "summary", {}, element("span", { class: "prompt" }, words("newReminder")), icon("plus")),
    form);
  // One that is past would never ring; one that repeats has a next time.
  const check = () => {
    const zone = ownZone || device;
    const now = repeat.value === "" ? localNow(zone) : "";
    const isPast = at.value !== "" && at.value <= now;
    at.min = now;
    at.setCustomValidity(isPast ? words("problem-past", { zone }) : "");
  };
  form.addEventListener("input", check);
  // The button is pressed by Enter, too, and before the browser looks at the fields.
  form.addEventListener("click", check);
  // One that had no answer may be stored: sent again it is the same reminder, and another is not.
  let id = "";
  let tried = "";
  onSubmit(form, async (values) => {
    const written = JSON.stringify(values);
    if (written !== tried) id = randomID();
    tried = written;
    const body = given(values);
    if (!ownZone) body.zone = device;
    await send(prepare("PUT", path("/v1/reminders", id), body));
    tried = "";
    form.reset();
    details.open = false;
    say(words("reminderSet"));
    // The lists say themselves what goes wrong.
    refresh().catch(() => {});
  }, signal);
  return details;
}
