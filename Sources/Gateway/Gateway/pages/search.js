/**
 * Searching people, to see them or to write to them.
 */

import { element, theirs } from "./dom.js";
import { icon } from "./icons.js";
import { avatar } from "./image.js";
import { createList } from "./list.js";
import { words } from "./locale.js";
import { nameOf, personRow, withPerson } from "./people.js";
import { routes } from "./routes.js";

const pauseMilliseconds = 250;

export function searchPage(parameters, signal) {
  const build = (row) => personRow(row, row.shown_name, ...details(row));
  return { title: words("search"), content: searching(routes.search, build, signal) };
}

/** Everybody, to choose the receiver of a message from. */
export function newMessagePage(parameters, signal) {
  const build = (row) => {
    const name = nameOf(row.shown_name);
    return element(
      "li", { class: "row" },
      element(
        "a",
        {
          class: "conversation", href: routes.chat(row.user_id),
          "aria-label": `${words("writeMessage")}: ${name}`,
        },
        avatar(row.shown_name, row.image_url, row.user_id),
        element(
          "span", { class: "about" }, element("span", { class: "name" }, theirs(name, "bdi")),
          element("span", { class: "soft details" }, ...details(row)))));
  };
  return {
    title: words("newMessage"), back: routes.messages,
    content: searching(routes.newMessage, build, signal),
  };
}

function searching(address, build, signal) {
  const results = element("div", {});
  const input = element("input", {
    type: "search", name: "q", dir: "auto", maxlength: 60, autocomplete: "off",
    enterkeyhint: "search",
    "aria-label": words("searchPeople"), placeholder: words("searchPeople"),
  });
  input.value = new URLSearchParams(location.search).get("q") ?? "";
  let search = new AbortController();
  let timer = 0;
  const run = () => {
    clearTimeout(timer);
    search.abort();
    search = new AbortController();
    const q = input.value.trim();
    // The address is that of what is shown, and going back does not pass every letter.
    const shown = q ? `${address}?${new URLSearchParams({ q })}` : address;
    history.replaceState(history.state, "", shown);
    const list = createList({
      address: "/v1/search", query: { q }, label: words("people"),
      empty: [icon("search"), words("nobody")],
      signal: AbortSignal.any([signal, search.signal]), keyOf: (row) => row.user_id,
      present: (row) => withPerson(row.user_id, row), build,
    });
    // What was found before stays until something else is.
    const mine = search;
    list.refresh().catch(() => {}).then(() => {
      if (mine === search) results.replaceChildren(list.element);
    });
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(run, pauseMilliseconds);
  });
  const form = element("form", { role: "search", class: "search" }, icon("search"), input);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  run();
  return [form, results];
}

function details(row) {
  const texts = [row.name, row.major].filter((text) => text && text !== row.shown_name);
  const parts = texts.map((text) => theirs(text));
  if (row.follows_viewer) parts.push(words("followsYou"));
  return parts.flatMap((part, index) => (index === 0 ? [part] : [" · ", part]));
}
