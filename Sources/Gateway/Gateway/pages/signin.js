/**
 * The page without a token: where to get one, and a field to paste it.
 */

import { element, field } from "./dom.js";
import { words } from "./locale.js";
import { signIn } from "./session.js";

/** Fills the document. */
export function showSignIn() {
  const input = element("input", {
    name: "token", type: "password", required: true, autocomplete: "off", dir: "ltr",
  });
  const form = element(
    "form", { class: "fields" }, field(words("token"), input),
    element("button", { type: "submit" }, words("signIn")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    signIn(input.value);
    location.reload();
  });
  document.title = "Magpie";
  document.body.replaceChildren(
    element(
      "main", { id: "main", class: "signin" },
      element("img", { src: "/pages/icon.svg", alt: "" }), element("h1", {}, "Magpie"),
      element("p", {}, words("problem-no-token")), form));
  input.focus();
}
