/**
 * Home and Following: posts, newest first, and a form for a new one.
 */

import { path, prepare } from "./api.js";
import { postCard, withPost } from "./card.js";
import { element, field, theirs } from "./dom.js";
import { given, valuesOf } from "./forms.js";
import { icon } from "./icons.js";
import { createList } from "./list.js";
import { watch } from "./live.js";
import { words } from "./locale.js";
import { sendShown } from "./pending.js";
import { mentionsIn, putBack } from "./writing.js";

const watchedPosts = 12;

export function homePage(parameters, signal) {
  const list = postList("/v1/home", words("noPosts"), signal);
  return { title: words("home"), content: [composer(list), list.element] };
}

export function followingPage(parameters, signal) {
  const list = postList("/v1/following", words("noFollowing"), signal);
  return { title: words("followingTitle"), content: [list.element] };
}

/** A list of posts that looks again while it is looked at. */
export function postList(address, empty, signal) {
  const list = createList({
    address, signal, empty: [icon("home"), empty], label: words("posts"),
    keyOf: (row) => row.post_id, present: withPost,
    build: (row) => element("li", { "data-key": row.post_id }, postCard(row)),
    onRows: (rows) => watchOthers(pathsOf(rows)),
  });
  const watchOthers = watch(pathsOf([]), list.refresh, signal);
  list.refresh().catch(() => {});
  return list;

  /** New posts above, and the counts of the first ones. */
  function pathsOf(rows) {
    const posts = rows.slice(0, watchedPosts).map((row) => path("/v1/posts", row.post_id));
    return [`${address}?limit=1`, ...posts];
  }
}

function composer(list) {
  const input = (name, properties) => element("input", { name, dir: "auto", ...properties });
  // The API counts bytes of UTF-8, and a text field counts UTF-16: at most 3 bytes each.
  const form = element(
    "form", { class: "fields" },
    field(words("title"), input("title", { maxlength: 170, "data-action": "title" })),
    field(
      words("caption"),
      element("textarea", { name: "caption", rows: 3, dir: "auto", maxlength: 5000 })),
    field(
      words("picture"),
      input(
        "image_url",
        { type: "url", pattern: "https://.*", placeholder: "https://", maxlength: 2048 })),
    element("button", { type: "submit" }, words("publish")));
  const details = element(
    "details", { class: "composer" },
    element("summary", {}, element("span", { class: "prompt" }, words("newPost")), icon("pencil")),
    form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const body = given(valuesOf(form));
    if (!body.title && !body.caption && !body.image_url) return;
    const mentions = mentionsIn(`${body.title ?? ""} ${body.caption ?? ""}`);
    if (mentions.length) body.mentions = mentions;
    form.reset();
    details.open = false;
    const made = element(
      "li", {},
      element(
        "article", { class: "card" }, theirs(body.title ?? "", "h2", { class: "title" }),
        theirs(body.caption ?? "", "p", { class: "text" })));
    sendShown(list, made, prepare("POST", "/v1/posts", body));
  });
  list.takeBack = (body) => {
    details.open = true;
    putBack(body, form);
  };
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    details.open = false;
    details.querySelector("summary").focus();
  });
  return details;
}
