/**
 * People in lists: picture, name, and a button to follow them.
 */

import { path, prepare } from "./api.js";
import { button, element, theirs } from "./dom.js";
import { avatar } from "./image.js";
import { words } from "./locale.js";
import { cleaned } from "./names.js";
import { attempt, drafted } from "./optimistic.js";
import { routes } from "./routes.js";
import { person } from "./session.js";

/** Whether the id stands for somebody who has left. */
export const hasLeft = (id) => id.startsWith("erased:");

/** The name that is shown for somebody. */
export const nameOf = (name, id = "") =>
  cleaned(name) || (hasLeft(id) ? words("someoneWhoLeft") : words("someone"));

/**
 * Somebody's picture and name, which lead to them.
 *
 * @param {...(Node|string|null)} details below the name
 */
export function byline(id, name, image, ...details) {
  const address = routes.person(id);
  return element(
    "div", { class: "byline" },
    // The name says it to those who hear or type.
    element(
      "a", { class: "face", href: address, tabindex: -1, "aria-hidden": "true" },
      avatar(name, image, id)),
    element(
      "div", { class: "about" },
      theirs(nameOf(name), "a", { class: "name", href: address, "data-action": "person" }),
      details.length ? element("p", { class: "soft details" }, ...details) : null));
}

/** A row with the members of `person/ID` drafts as the person has just changed them. */
export const withPerson = (id, row) => drafted(`person/${id}`, row);

/**
 * The button that follows somebody, follows them back, or no longer; null for oneself.
 *
 * @param {{is_followed: boolean, follows_viewer: boolean}} row
 */
export function followButton(id, name, row) {
  if (id === person()) return null;
  const text = words(
    row.is_followed ? "following" : row.follows_viewer ? "followBack" : "follow");
  const toggle = () => {
    const method = row.is_followed ? "DELETE" : "PUT";
    const action = prepare(method, path("/v1/profiles", id, "follow"));
    attempt(`person/${id}`, { is_followed: !row.is_followed }, action);
  };
  return button(text, toggle, {
    class: row.is_followed ? "follow plain" : "follow", "data-action": "follow",
    "aria-label": `${text}: ${nameOf(name)}`,
  });
}

/**
 * A row of a list of people.
 *
 * @param {...(Node|null)} details below the name
 */
export function personRow(row, name, ...details) {
  return element(
    "li", { class: "row", "data-key": row.user_id },
    byline(row.user_id, name, row.image_url, ...details),
    followButton(row.user_id, name, row));
}
