/**
 * Conversations, and one of them. An open chat that is looked at is read.
 */

import { get, path, prepare, send } from "./api.js";
import { element, theirs } from "./dom.js";
import { icon } from "./icons.js";
import { avatar } from "./image.js";
import { createList } from "./list.js";
import { subscribe, watch } from "./live.js";
import { badgeNumber, words } from "./locale.js";
import { announce } from "./notice.js";
import { sendShown } from "./pending.js";
import { hasLeft, nameOf } from "./people.js";
import { oncePerValue } from "./repeat.js";
import { scrollToEnd } from "./router.js";
import { routes } from "./routes.js";
import { person } from "./session.js";
import { setTitle } from "./shell.js";
import { timeOf } from "./time.js";
import { putBack, writingForm } from "./writing.js";

export function messagesPage(parameters, signal) {
  const list = createList({
    address: "/v1/conversations", label: words("messages"), signal,
    empty: [icon("envelope"), words("noMessages")], pageSize: 50,
    keyOf: (row) => row.peer_id, build: conversationRow,
  });
  list.refresh().catch(() => {});
  subscribe("conversations", list.show, signal);
  const write = element(
    "a", { class: "button", href: routes.newMessage }, icon("plus"), words("newMessage"));
  return { title: words("messages"), content: [write, list.element] };
}

function conversationRow(row) {
  const unread = row.unread > 0
    ? element(
      "span", { class: "badge", "aria-label": `${words("unread")}: ${badgeNumber(row.unread)}` },
      badgeNumber(row.unread))
    : null;
  const own = row.sender_id === person() ? `${words("you")}: ` : "";
  return element(
    "li", { class: `row${row.unread > 0 ? " unread" : ""}`, "data-key": row.peer_id },
    element(
      "a", { class: "conversation", href: routes.chat(row.peer_id), "data-action": "open" },
      avatar(row.peer_name, row.peer_image_url, row.peer_id),
      element(
        "span", { class: "about" },
        element("span", { class: "name" }, theirs(nameOf(row.peer_name, row.peer_id), "bdi")),
        element("span", { class: "excerpt" }, own, theirs(row.text)),
        element("span", { class: "soft" }, timeOf(row.sent_at))),
      unread));
}

export function chatPage({ peer }, signal) {
  const list = createList({
    address: path("/v1/conversations", peer), label: words("messages"), signal, isUpward: true,
    empty: [icon("envelope"), words("noMessagesYet")], keyOf: (row) => row.message_id,
    build: messageRow, pageSize: 30, onRows: shown,
  });
  list.element.classList.add("chat");
  const look = () => list.refresh().catch(() => {});
  let rows = [];
  const tell = oncePerValue(markRead);
  let newestShown = "";
  let isLoaded = false;
  look();
  if (!hasLeft(peer)) nameTitle(peer, signal);
  watch([`${path("/v1/conversations", peer)}?limit=30`], list.refresh, signal);
  document.addEventListener("visibilitychange", () => markRead(), { signal });

  const form = writingForm(words("writeMessage"), (text) => {
    const made = bubble(text, true);
    sendShown(list, made, prepare("POST", path("/v1/conversations", peer), { text }));
    scrollToEnd();
  });
  list.takeBack = (body) => putBack(body, form);
  return hasLeft(peer)
    ? { title: nameOf("", peer), back: routes.messages, content: [list.element] }
    : { title: words("chat"), back: routes.messages, content: [list.element, form] };

  function shown(fresh) {
    rows = fresh;
    markRead();
    const newest = rows[0]?.message_id ?? "";
    if (newest !== newestShown && isAtEnd(newestShown === "")) scrollToEnd();
    const count = rows.findIndex((row) => row.message_id === newestShown);
    if (isLoaded) announceNew(newestShown === "" ? rows.length : count);
    isLoaded = true;
    newestShown = newest;
  }

  /** Says what the other one has written since: the first so many rows, which are few. */
  function announceNew(count) {
    const fresh = rows.slice(0, Math.max(0, count)).filter((row) => row.sender_id === peer);
    if (fresh.length === 0) return;
    const texts = fresh.map((row) => row.text).reverse();
    announce(`${nameOf(fresh[0].sender_name)}: ${texts.join("\n")}`);
  }

  /** Tells the gateway once that what the other one wrote has been read. */
  function markRead() {
    const unread = rows.filter((row) => row.sender_id === peer && !row.is_read);
    const newest = unread.map((row) => row.sent_at).sort().at(-1) ?? "";
    const mayTell = !document.hidden && !signal.aborted;
    if (!mayTell || newest === "" || peer === person()) return;
    const address = path("/v1/conversations", peer, "read");
    tell(newest, () => send(prepare("PUT", address, undefined, newest)).then(look));
  }
}

function messageRow(row) {
  const isOwn = row.sender_id === person();
  const made = bubble(row.text, isOwn);
  const state = isOwn && row.is_read
    ? element("span", { class: "read" }, icon("check"), element("span", {}, words("read"))) : null;
  made.dataset.key = row.message_id;
  const name = isOwn ? words("you") : nameOf(row.sender_name);
  made.prepend(element("span", { class: "hidden" }, `${name}: `));
  made.append(element("p", { class: "soft" }, timeOf(row.sent_at), state));
  return made;
}

function bubble(text, isOwn) {
  return element(
    "li", { class: isOwn ? "message own" : "message" }, theirs(text, "p", { class: "text" }));
}

/** The other one's name as the page's title. */
function nameTitle(peer, signal) {
  get(path("/v1/profiles", peer), { signal })
    .then((row) => setTitle(nameOf(row.shown_name), signal, routes.person(peer)))
    // Without a profile there is no name.
    .catch(() => {});
}

/** Whether the newest message is in view, so that a newer one may take its place. */
function isAtEnd(isFirst) {
  const page = document.documentElement;
  return isFirst || page.scrollHeight - page.scrollTop - page.clientHeight < 200;
}
