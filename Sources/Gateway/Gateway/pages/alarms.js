/**
 * Alarms, and everybody behind one of them.
 *
 * Opening the list is seeing it, which clears the badge; opening an alarm is reading it.
 */

import { path, prepare, send } from "./api.js";
import { button, element } from "./dom.js";
import { icon } from "./icons.js";
import { avatar, postPicture } from "./image.js";
import { createList } from "./list.js";
import { subscribe } from "./live.js";
import { number, words } from "./locale.js";
import { choice, menu } from "./menu.js";
import { say, showProblem } from "./notice.js";
import { keyOf, pathOf, read, targetOf } from "./opening.js";
import { attempt, drafted } from "./optimistic.js";
import { followButton, nameOf, personRow, withPerson } from "./people.js";
import { relation } from "./post.js";
import { oncePerValue } from "./repeat.js";
import { routes } from "./routes.js";
import { sentence } from "./sentence.js";
import { timeOf } from "./time.js";

export function alarmsPage(parameters, signal) {
  const seen = see(signal);
  const all = (change, action) => attempt("alarms", change, action);
  let newest = "";
  const readAll = () => {
    const action = prepare("PUT", "/v1/alarms/read", undefined, newest);
    all({ unread: false, unseen: false }, action);
  };
  const removeAll = () => {
    // Before the question: what comes meanwhile stays.
    const action = prepare("DELETE", "/v1/alarms", undefined, newest);
    if (confirm(words("askRemoveAlarms"))) all({ is_removed: true }, action);
  };
  const actions = element(
    "div", { class: "actions tools", hidden: true },
    button(words("readAll"), readAll, { class: "plain" }),
    button(words("removeAll"), removeAll, { class: "plain" }));
  const list = createList({
    address: "/v1/alarms", label: words("alarms"), empty: [icon("bell"), words("noAlarms")], signal,
    pageSize: 50, keyOf: (row) => row.notification_id, present, build: alarmRow,
    onRows: (rows) => {
      actions.hidden = rows.length === 0;
      newest = newestOf(rows);
      seen(rows);
    },
  });
  list.refresh().catch(() => {});
  subscribe("alarms", list.show, signal);
  return { title: words("alarms"), content: [actions, list.element] };
}

/** A row with what the person has just done with it, or with all. */
function present(row) {
  const own = drafted(keyOf(row), drafted("alarms", row));
  const actor = withPerson(row.actor_id, { is_followed: row.actor_is_followed });
  return { ...own, actor_is_followed: actor.is_followed };
}

/** The time of the newest of these alarms; empty if there is none. */
const newestOf = (rows) => rows.map((row) => row.raised_at).sort().at(-1) ?? "";

/** Tells the gateway once that what is new has been seen. */
function see(signal) {
  const tell = oncePerValue(check);
  let latest = [];
  document.addEventListener("visibilitychange", check, { signal });
  return (rows) => {
    latest = rows;
    check();
  };

  function check() {
    const newest = newestOf(latest.filter((row) => row.unseen));
    if (newest === "" || document.hidden || signal.aborted) return;
    tell(newest, () => send(prepare("PUT", "/v1/alarms/seen", undefined, newest)));
  }
}

function alarmRow(row) {
  const onclick = () => read(row);
  const remove = () => {
    const action = prepare("DELETE", pathOf(row), undefined, row.raised_at);
    attempt(keyOf(row), { is_removed: true }, action);
  };
  const target = targetOf(row);
  const text = sentence(row);
  const main = target
    ? element("a", { href: target, onclick, "data-action": "open" }, text)
    : button(text, onclick, { class: "bare", "data-action": "open" });
  const state = row.unread
    ? element("span", { class: "hidden" }, `${words(row.unseen ? "new" : "unread")}: `) : null;
  main.prepend(state ?? "");
  const everybody = row.actor_count > 1
    ? [
      " · ",
      element(
        "a", { href: routes.alarmPeople(row.notification_id), "data-action": "people" },
        `${words("everybody")}: ${number(row.actor_count)}`),
    ]
    : [];
  const picture = postPicture(row.thumbnail_url, "");
  picture?.classList.add("thumbnail");
  const made = element(
    "li",
    {
      class: `row alarm${row.unread ? " unread" : ""}${row.unseen ? " unseen" : ""}`,
      "data-key": row.notification_id, "data-kind": row.kind,
    },
    face(row),
    element(
      "div", { class: "about" }, main,
      element("p", { class: "soft details" }, timeOf(row.raised_at), ...everybody),
      picture ? null : followBack(row)),
    picture, choices(row, remove));
  made.hidden = row.is_removed === true;
  return made;
}

/** Who acted last, and a sign of what they did. */
function face(row) {
  const kind = row.badge_icon || "bell";
  if (!row.actor_id) return element("span", { class: "avatar", "aria-hidden": "true" }, icon(kind));
  return element(
    "span", { class: "face" }, avatar(row.actor_name, row.actor_image_url, row.actor_id),
    element("span", { class: `kind kind-${kind}`, "aria-hidden": "true" }, icon(kind)));
}

/** Where there is no picture, a button to follow who acted. */
function followBack(row) {
  if (!row.actor_id || row.actor_is_followed) return null;
  const relations = { is_followed: false, follows_viewer: row.kind === "F02" };
  return followButton(row.actor_id, row.actor_name, relations);
}

function choices(row, remove) {
  const disable = async (body) => {
    try {
      await send(prepare("POST", "/v1/settings/disabled", body));
      say(words("isOff"), " ", element("a", { href: routes.settings }, words("settings")));
    } catch (problem) {
      showProblem(problem, () => disable(body));
    }
  };
  return menu(
    choice("trash", words("remove"), remove),
    choice("bell", words("noMoreLikeThis"), () => disable({ scope: "kind", kind: row.kind })),
    row.actor_id
      ? choice(
        "block", `${words("mute")}: \u2068${nameOf(row.actor_name)}\u2069`,
        () => disable({ scope: "actor", actor: row.actor_id }))
      : null);
}

export function alarmPeoplePage({ alarm }, signal) {
  const list = createList({
    address: path("/v1/alarms", alarm, "people"), label: words("everybody"), signal,
    empty: words("nobody"), keyOf: (row) => row.user_id,
    present: (row) => withPerson(row.user_id, row),
    build: (row) => personRow(row, row.name, ...relation(row, row.acted_at)),
  });
  list.refresh().catch(() => {});
  return { title: words("everybody"), back: routes.alarms, content: [list.element] };
}
