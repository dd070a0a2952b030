/**
 * Settings: language, time zone, what is off, and the session.
 */

import { get, path, prepare, send } from "./api.js";
import { button, element, field, theirs } from "./dom.js";
import { onSubmit, saveProfile } from "./forms.js";
import { avatar } from "./image.js";
import { words } from "./locale.js";
import { say, showProblem } from "./notice.js";
import { nameOf } from "./people.js";
import { routes } from "./routes.js";
import { exchange, skeleton } from "./rows.js";
import { expiry, person, signOut } from "./session.js";
import { applyLocale } from "./shell.js";
import { dateOf, wholeTime } from "./time.js";
import { whenNobodyWrites } from "./typing.js";

/** The languages that alarms are written in. */
const alarmLanguages = [
  "en", "ko", "th", "ar", "es", "he", "id", "ja", "vi", "zh-Hans", "zh-Hant",
];

export function settingsPage(parameters, signal) {
  const frame = element("div", { class: "content" }, skeleton());
  const load = async () => {
    try {
      const settings = await get("/v1/settings", { signal });
      frame.replaceChildren(general(settings, signal), off(settings, signal), session());
    } catch (problem) {
      showProblem(problem, load);
    }
  };
  load();
  return { title: words("settings"), content: [frame] };
}

/** A button saves: who chooses with the arrow keys passes other choices. */
function general(settings, signal) {
  const form = element(
    "form", { class: "panel fields" }, language(settings), zone(settings),
    element("button", { type: "submit" }, words("save")));
  onSubmit(form, async (values) => {
    const changes = await saveProfile(values, settings);
    Object.assign(settings, changes);
    // The language changes whatever page is shown by then.
    if (signal.aborted) await whenNobodyWrites();
    applyLocale(changes.locale);
    say(words("saved"));
  }, signal);
  return form;
}

function language({ locale: chosen }) {
  const names = [...new Set([...alarmLanguages, ...(chosen ? [chosen] : [])])];
  const select = element(
    "select", { name: "locale" }, chosen ? null : element("option", { value: "" }, "—"),
    ...names.map((tag) =>
      element("option", { value: tag, lang: tag, dir: "auto" }, languageName(tag))));
  select.value = chosen ?? "";
  return field(words("language"), select);
}

function languageName(tag) {
  try {
    return new Intl.DisplayNames(tag, { type: "language" }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}

function zone({ zone: chosen }) {
  const device = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const names = [...new Set([...Intl.supportedValuesOf("timeZone"), device, chosen || device])];
  const select = element(
    "select", { name: "zone" }, chosen ? null : element("option", { value: "" }, "—"),
    ...names.sort().map((name) => element("option", { value: name, dir: "ltr" }, name)));
  select.value = chosen ?? "";
  return field(words("timeZone"), select, `${words("thisDevice")}: ${device}`);
}

function off({ mutes }, signal) {
  const title = words("whatIsOff");
  let list = muteList(mutes, undo);
  let asked = 0;
  let shown = 0;
  return element(
    "section", { "aria-label": title, class: "panel" }, element("h2", {}, title), list);

  async function undo(action) {
    try {
      await send(action);
      asked += 1;
      const question = asked;
      const fresh = await get("/v1/settings", { signal });
      // Of two answers, that to the later question knows more.
      if (question < shown) return;
      shown = question;
      const before = list;
      list = muteList(fresh.mutes, undo);
      exchange(before, list);
    } catch (problem) {
      showProblem(problem, () => undo(action));
    }
  }
}

function muteList(mutes, undo) {
  if (mutes.length === 0) return element("p", { class: "empty" }, words("nothingIsOff"));
  const rows = mutes.map((mute) => {
    const back = () => undo(prepare(...undoing(mute)));
    const name = nameOfMute(mute);
    return element(
      "li", { class: "row", "data-key": `${mute.scope}/${mute.kind}/${mute.value}` },
      isPerson(mute) ? avatar(mute.name, mute.image_url, mute.value) : null,
      element(
        "div", { class: "about" },
        isPerson(mute)
          ? theirs(name, "a", { href: routes.person(mute.value), class: "name" })
          : element("p", { class: "name" }, name),
        element(
          "p", { class: "soft" }, words(`scope-${mute.scope}`), " · ",
          mute.until
            ? words("until", { date: dateOf(mute.until) })
            : words("since", { date: dateOf(mute.since) }))),
      button(words("turnOn"), back, {
        class: "plain", "aria-label": `${words("turnOn")}: ${name}`,
      }));
  });
  return element("ul", { class: "rows" }, ...rows);
}

const isPerson = (mute) => mute.scope === "actor" || mute.scope === "block";

function nameOfMute(mute) {
  if (isPerson(mute)) return nameOf(mute.name);
  const kind = words(`kind-${mute.kind}`);
  const name = kind === `kind-${mute.kind}` ? mute.kind : kind;
  return mute.value ? `${name} (${mute.value})` : name;
}

/** The action that takes a row back. */
function undoing({ scope, kind, value }) {
  if (scope === "block") return ["DELETE", path("/v1/profiles", value, "block")];
  if (scope === "actor") return ["DELETE", path("/v1/profiles", value, "mute")];
  const body = scope === "subject" ? { scope, kind, subject: value } : { scope, kind };
  return ["POST", "/v1/settings/enabled", body];
}

function session() {
  const end = expiry();
  const leave = async () => {
    if (!confirm(words("askLeave"))) return;
    try {
      await send(prepare("DELETE", "/v1/me"));
      signOut();
    } catch (problem) {
      showProblem(problem);
    }
  };
  return element(
    "section", { "aria-label": words("session"), class: "panel fields" },
    element("h2", {}, words("session")),
    element("p", {}, words("signedInAs"), " ", theirs(person(), "bdi")),
    end ? element("p", {}, words("signedInUntil", { time: wholeTime(end.toISOString()) })) : null,
    button(words("signOut"), signOut, { class: "plain" }),
    button(words("leave"), leave, { class: "plain", "data-action": "leave" }));
}
