/**
 * A post, in a list or alone: who wrote it, what it says, likes and comments.
 */

import { path, prepare } from "./api.js";
import { button, element, theirs } from "./dom.js";
import { icon } from "./icons.js";
import { postPicture } from "./image.js";
import { number, words } from "./locale.js";
import { attempt, drafted } from "./optimistic.js";
import { byline, followButton, nameOf, withPerson } from "./people.js";
import { routes } from "./routes.js";
import { timeOf, wholeTime } from "./time.js";

/** A post's row with what the person has just done. */
export const withPost = (row) =>
  withPerson(row.author_id, drafted(`post/${row.post_id}`, row));

/**
 * @param {...(Node|null)} actions at the end of the card
 */
export function postCard(row, ...actions) {
  const address = routes.post(row.post_id);
  const name = nameOf(row.author_name);
  const edited = row.edited_at
    ? [" · ", element("span", { title: wholeTime(row.edited_at) }, words("edited"))] : [];
  // A post without a title is opened by its time, as others can be.
  const time = element("a", { href: address, "data-action": "time" }, timeOf(row.published_at));
  const title = row.title
    ? element("a", { href: address, "data-action": "open" }, row.title) : null;
  return element(
    "article", { class: "card", "aria-label": row.title || words("post") },
    element(
      "header", {},
      byline(row.author_id, row.author_name, row.author_image_url, time, ...edited),
      followButton(row.author_id, row.author_name, row)),
    title ? theirs(title, "h2", { class: "title" }) : null,
    row.caption ? theirs(row.caption, "p", { class: "text" }) : null,
    postPicture(row.image_url, words("pictureOf", { name })),
    element(
      "footer", { class: "actions" }, likeButton(row),
      element(
        "a",
        {
          class: "plain button", href: address, "data-action": "comments",
          "aria-label": `${words("comments")}: ${number(row.comments)}`,
        },
        icon("comment"), number(row.comments)),
      element(
        "a",
        { class: "plain button soft", href: routes.likers(row.post_id), "data-action": "likers" },
        words("likers")),
      ...actions));
}

function likeButton(row) {
  const toggle = () => {
    const change = {
      is_liked: !row.is_liked, likes: Math.max(0, row.likes + (row.is_liked ? -1 : 1)),
    };
    const method = row.is_liked ? "DELETE" : "PUT";
    const action = prepare(method, path("/v1/posts", row.post_id, "like"));
    attempt(`post/${row.post_id}`, change, action);
  };
  const made = button(icon("heart"), toggle, {
    class: row.is_liked ? "plain like liked" : "plain like", "data-action": "like",
    "aria-pressed": String(row.is_liked),
    "aria-label": `${words("like")}: ${number(row.likes)}`,
  });
  made.append(number(row.likes));
  return made;
}
