/**
 * What is around each page: navigation, who is signed in, and problems.
 */

import { button, element, field, theirs } from "./dom.js";
import { onEnd, person, signIn, signOut } from "./session.js";

const links = [
  ["/", "Overview"], ["/dead-letters", "Dead letters"], ["/offsets", "Offsets"],
  ["/verify", "Verify"],
];

const heading = element("h1", { tabindex: -1 });
const main = element("main", { id: "main" });
const notices = element("div", { class: "notices", role: "alert" });
const navigation = element("nav", { "aria-label": "Pages" });
let isFirstPage = true;

/** Fills the document, once. */
export function startShell() {
  navigation.append(...links.map(([address, name]) => element("a", { href: address }, name)));
  document.body.replaceChildren(
    element("a", { class: "skip", href: "#main", onclick: skip }, "Skip to the page"),
    element(
      "header", {}, element("img", { src: "/pages/icon.svg", alt: "" }), navigation,
      theirs(person(), "span", { class: "person" }), button("Sign out", signOut)),
    notices, main);
  onEnd(() => notices.replaceChildren(element("p", {}, "The token is no longer valid.")));
}

/** The router would take it for a link to the same page. */
function skip(event) {
  event.preventDefault();
  heading.focus();
}

/** Shows a page: its title and its content. */
export function showPage({ title, content }) {
  document.title = `${title} – Magpie`;
  const isWithin = (address) => location.pathname.startsWith(address);
  for (const link of navigation.children) {
    const address = link.getAttribute("href");
    const isHere = address === "/" ? location.pathname === "/" : isWithin(address);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  heading.textContent = title;
  main.replaceChildren(heading, ...content);
  // A screen reader begins with the new page, but not before anybody has done anything.
  if (!isFirstPage) heading.focus({ preventScroll: true });
  isFirstPage = false;
}

/** The page of an address that has none. */
export function nothing() {
  return { title: "No such page", content: [element("p", {}, "There is no such page.")] };
}

/** Says what did not work until it is dismissed; an abort is nothing. */
export function showProblem(error) {
  if (error.name === "AbortError") return;
  const notice = element(
    "p", {}, error.message, " ", button("Dismiss", () => notice.remove()));
  notices.replaceChildren(notice);
}

/** The page without a token: a field to paste one. */
export function showSignIn() {
  const input = element("input", {
    name: "token", type: "password", required: true, autocomplete: "off",
  });
  const form = element(
    "form", {}, field("Token", input, "A token of the operators' audience."),
    element("button", { type: "submit" }, "Sign in"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    signIn(input.value);
    location.reload();
  });
  document.body.replaceChildren(
    element("main", { class: "signin" }, element("h1", {}, "Magpie: operators"), form));
  input.focus();
}

/** A table with a caption. Cells are texts or nodes; a row may be a `<tr>` already. */
export function table(caption, heads, rows) {
  const cell = (content) => element("td", {}, content ?? "");
  return element(
    "div", { class: "wide" },
    element(
      "table", {}, element("caption", {}, caption),
      element(
        "thead", {},
        element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element(
        "tbody", {},
        rows.map((row) => (row instanceof Node ? row : element("tr", {}, row.map(cell)))))));
}

/** A time of the API, to the second. In UTC, as logs are. */
export function time(text) {
  return text ? `${text.slice(0, 19).replace("T", " ")}Z` : "";
}

/** Where a runbook is, in the repository. */
export function runbook(name) {
  const file = element("code", {}, `docs/operations/${name}.md`);
  return element("p", { class: "runbook" }, "Runbook: ", file);
}
