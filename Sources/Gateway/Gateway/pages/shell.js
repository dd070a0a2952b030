/**
 * What is around every page: header, navigation, badge, title, and whether the stream is open.
 */

import { button, element } from "./dom.js";
import { icon } from "./icons.js";
import { subscribe, onStatus } from "./live.js";
import { badgeNumber, locale, setLocale, words } from "./locale.js";
import { announce, noticeRegions, say } from "./notice.js";
import { read, targetOf } from "./opening.js";
import { goBack, open } from "./router.js";
import { routes } from "./routes.js";
import { sentence } from "./sentence.js";
import { hasEnded, onEnd, person, signInAgain } from "./session.js";

const localeName = "magpie.locale";
// A stream that rotates is back before anybody reads that it was gone.
const cutMilliseconds = 3000;

let title = "";
let badge = { badge: 0, has_unseen: false };
let unreadMessages = 0;
let isMoreUnread = false;
let isFirstPage = true;
let knownAlarms = null;
let cutTimer = 0;

const status = element("p", { class: "status", role: "status" });
const ended = element("div", { role: "alert" });
const heading = element("h1", { tabindex: -1 });
const content = element("div", { class: "content" });
const back = element("a", { class: "icon back", hidden: true, onclick: goBack }, icon("back"));
const main = element(
  "main", { id: "main" }, element("div", { class: "heading" }, back, heading), content);

/** The language that was chosen last, until the profile has come. */
export const storedLocale = () => sessionStorage.getItem(localeName);

/** Shows everything in another language, if it is another one. */
export function applyLocale(tag) {
  if (!tag) return;
  sessionStorage.setItem(localeName, tag);
  const before = locale();
  setLocale(tag);
  if (locale() === before) return;
  build();
  open();
}

/** Fills the document, and keeps badge and titles as they are now. */
export function startShell() {
  build();
  subscribe("badge", (state) => {
    badge = state;
    drawBadges();
  });
  subscribe("conversations", (state) => {
    unreadMessages = state.items.reduce((sum, row) => sum + row.unread, 0);
    // Older conversations may have unread messages, too.
    isMoreUnread = state.next !== null;
    drawBadges();
  });
  subscribe("alarms", announceNew);
  onStatus(showStatus);
  onEnd(showEnd);
}

function build() {
  back.setAttribute("aria-label", words("back"));
  document.body.replaceChildren(
    element("a", { class: "skip", href: "#main", onclick: skip }, words("skip")),
    element(
      "header", { class: "top" },
      element(
        "a", { class: "brand", href: routes.home },
        element("img", { src: "/pages/icon.svg", alt: "" }), "Magpie"),
      element(
        "nav", { "aria-label": words("yours") }, link("alarms", routes.alarms, "bell"),
        link("messages", routes.messages, "envelope"), link("settings", routes.settings, "gear"))),
    element(
      "nav", { class: "tabs", "aria-label": words("pages") }, link("home", routes.home, "home"),
      link("followingTitle", routes.following, "people"), link("search", routes.search, "search"),
      link("reminders", routes.reminders, "clock"),
      link("profile", routes.person(person()), "person")),
    main, status, ended, ...noticeRegions());
  drawBadges();
}

function skip(event) {
  event.preventDefault();
  heading.focus();
}

function link(name, address, picture) {
  return element(
    "a", { href: address, "data-name": name, title: words(name), "aria-label": words(name) },
    icon(picture), element("span", { class: "word", "aria-hidden": "true" }, words(name)),
    element("span", { class: "badge", hidden: true, "aria-hidden": "true" }));
}

/** Shows a page in the middle. */
export function showPage({ title: text, content: parts, back: address = null }) {
  content.replaceChildren(...parts);
  back.hidden = address === null;
  if (address !== null) back.href = address;
  title = text;
  drawTitle(null);
  for (const anchor of document.querySelectorAll("nav a")) {
    const isCurrent = new URL(anchor.href).pathname === location.pathname;
    if (isCurrent) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  // A screen reader begins with the new page, but not before anybody has done anything.
  if (!isFirstPage) heading.focus({ preventScroll: true });
  isFirstPage = false;
}

/** A title that is known once the page has been read; a name of somebody, perhaps with a link. */
export function setTitle(text, signal, address = null) {
  if (signal.aborted) return;
  title = text;
  drawTitle(address);
}

function drawTitle(address) {
  heading.replaceChildren(element(address ? "a" : "span", { href: address, dir: "auto" }, title));
  drawDocumentTitle();
}

function drawDocumentTitle() {
  const count = badge.badge > 0 ? `(${badgeNumber(badge.badge)}) ` : "";
  document.title = `${count}${title} · Magpie`;
  // The tab shows a dot even where its title is cut off, if it came before the tab was left
  // (presence.js).
  const picture = badge.has_unseen ? "/pages/icon-new.svg" : "/pages/icon.svg";
  const link = document.querySelector("link[rel=icon]");
  if (link.getAttribute("href") !== picture) link.href = picture;
}

function drawBadges() {
  drawDocumentTitle();
  drawBadge("alarms", badge.badge, badge.has_unseen);
  drawBadge("messages", unreadMessages, unreadMessages > 0, isMoreUnread);
}

function drawBadge(name, count, hasDot, isMore = false) {
  const anchor = document.querySelector(`nav a[data-name="${name}"]`);
  if (!anchor) return;
  const shown = anchor.querySelector(".badge");
  shown.hidden = count === 0;
  shown.textContent = badgeNumber(count, isMore);
  // The number says more than the dot.
  anchor.classList.toggle("dot", hasDot && count === 0);
  const values = { name: words(name), count: badgeNumber(count, isMore) };
  anchor.setAttribute("aria-label", count > 0 ? words("withNew", values) : words(name));
}

/** Says the alarms that came since the last state, the newest one in words. */
function announceNew(state) {
  const before = knownAlarms;
  knownAlarms = state;
  if (!before) return;
  // A like that is taken back makes its alarm older, not new.
  const isKnown = (alarm) => before.items.some((known) =>
    known.notification_id === alarm.notification_id
      && Date.parse(known.raised_at) >= Date.parse(alarm.raised_at));
  // Below the last one that is known, an old one may have taken the place of one that was removed.
  // Its time does not tell: what happened long ago may be new.
  const last = before.next === null ? -1 : state.items.findLastIndex(isKnown);
  const upper = last < 0 ? state.items : state.items.slice(0, last);
  const newest = upper.find((alarm) => alarm.unseen && !isKnown(alarm));
  if (!newest) return;
  if (location.pathname === routes.alarms) {
    return announce(newest.text, { lang: newest.locale, dir: newest.text_direction });
  }
  const target = targetOf(newest) ?? routes.alarms;
  // The chat that is open says it itself.
  if (target === location.pathname) return;
  say(icon("bell"), element("a", { href: target, onclick: () => read(newest) }, sentence(newest)));
}

function showStatus(isOpen) {
  clearTimeout(cutTimer);
  document.documentElement.dataset.live = isOpen ? "open" : "cut";
  if (isOpen || hasEnded()) return void (status.textContent = "");
  // A page at which nobody looks has no stream (presence.js).
  if (document.hidden) return;
  cutTimer = setTimeout(() => {
    status.textContent = words(navigator.onLine ? "reconnecting" : "offline");
  }, cutMilliseconds);
}

function showEnd() {
  clearTimeout(cutTimer);
  status.textContent = "";
  const next = button(words("signIn"), signInAgain);
  ended.replaceChildren(
    element("p", { class: "ended" }, words("problem-invalid-token"), " ", next));
}
