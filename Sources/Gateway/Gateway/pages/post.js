/**
 * A post with its comments, and who likes it.
 */

import { path, prepare, send } from "./api.js";
import { postCard, withPost } from "./card.js";
import { element, iconButton, theirs } from "./dom.js";
import { oneAtATime } from "./forms.js";
import { icon } from "./icons.js";
import { createList } from "./list.js";
import { watch } from "./live.js";
import { words } from "./locale.js";
import { showProblem } from "./notice.js";
import { attempt, drafted } from "./optimistic.js";
import { sendShown } from "./pending.js";
import { byline, personRow, withPerson } from "./people.js";
import { go } from "./router.js";
import { routes } from "./routes.js";
import { person } from "./session.js";
import { createSingle } from "./single.js";
import { timeOf } from "./time.js";
import { mentionsIn, putBack, writingForm } from "./writing.js";

// The ids that the gateway makes: a person's tag and a digest. Others cannot be changed through it.
const madeHere = /^[\w-]{16}-[\w-]{22}$/;

export function postPage({ post }, signal) {
  const remove = removal(post, signal);
  const single = createSingle({
    address: path("/v1/posts", post), present: withPost, signal,
    build: (row) => postCard(row, row.author_id === person() ? removeButton(remove) : null),
  });
  const list = createList({
    address: path("/v1/posts", post, "comments"), label: words("comments"), signal,
    empty: [icon("comment"), words("noComments")], keyOf: (row) => row.comment_id,
    build: commentRow, present: (row) => drafted(`comment/${row.comment_id}`, row),
  });
  const seek = showTarget(list, signal);
  refresh().catch(() => {});
  watch([path("/v1/posts", post), path("/v1/posts", post, "comments")], refresh, signal);
  const form = writingForm(words("writeComment"), (text) => {
    const made = element("li", { class: "row" }, theirs(text, "p", { class: "text" }));
    const address = path("/v1/posts", post, "comments");
    sendShown({ ...list, refresh }, made, prepare("POST", address, commentBody(text)));
  });
  list.takeBack = (body) => putBack(body, form);
  const title = element("h2", {}, words("comments"));
  return {
    title: words("post"), back: routes.home,
    content: [
      single.element,
      element("section", { "aria-label": words("comments") }, title, form, list.element),
    ],
  };

  function refresh() {
    const comments = list.refresh();
    // That goes on in its own time. What cannot be read now is looked for at the next look.
    comments.then(seek).catch(() => {});
    return Promise.all([single.refresh(), comments]);
  }

  function commentRow(row) {
    const edited = row.edited_at ? [" · ", words("edited")] : [];
    const made = element(
      "li", { class: "row comment", "data-key": row.comment_id },
      byline(
        row.actor_id, row.actor_name, row.actor_image_url, timeOf(row.created_at), ...edited));
    made.querySelector(".about").append(theirs(row.text, "p", { class: "text" }));
    if (row.actor_id === person() && madeHere.test(row.comment_id)) {
      made.append(...ownActions(row, made));
    }
    if (row.is_removed) made.hidden = true;
    return made;
  }

  function ownActions(row, made) {
    const address = path("/v1/posts", post, "comments", row.comment_id);
    const key = `comment/${row.comment_id}`;
    const edit = () => {
      const shown = [...made.childNodes];
      const finish = () => {
        delete made.dataset.keep;
        made.replaceChildren(...shown);
        list.redraw();
        made.querySelector('[data-action="edit"]')?.focus();
      };
      const save = (text) => {
        finish();
        if (text === row.text) return;
        attempt(key, { text }, prepare("PUT", address, commentBody(text)));
      };
      made.dataset.keep = "";
      made.replaceChildren(writingForm(words("edit"), save, { text: row.text, onCancel: finish }));
      made.querySelector("textarea").focus();
    };
    const remove = () => {
      if (!confirm(words("removeComment"))) return;
      attempt(key, { is_removed: true }, prepare("DELETE", address));
    };
    return [
      iconButton(icon("pencil"), words("edit"), edit, { "data-action": "edit" }),
      iconButton(icon("trash"), words("remove"), remove, { "data-action": "remove" }),
    ];
  }
}

export function likersPage({ post }, signal) {
  const list = createList({
    address: path("/v1/posts", post, "likers"), label: words("likers"), signal,
    empty: [icon("heart"), words("noLikes")], keyOf: (row) => row.user_id,
    present: (row) => withPerson(row.user_id, row),
    build: (row) => personRow(row, row.name, ...relation(row, row.liked_at)),
  });
  list.refresh().catch(() => {});
  return { title: words("likers"), back: routes.post(post), content: [list.element] };
}

/** When somebody did something, and whether they follow the viewer. */
export function relation(row, time) {
  return [timeOf(time), ...(row.follows_viewer ? [" · ", words("followsYou")] : [])];
}

function commentBody(text) {
  const mentions = mentionsIn(text);
  return mentions.length ? { text, mentions } : { text };
}

const removeButton = (remove) =>
  iconButton(icon("trash"), words("remove"), remove, { "data-action": "remove" });

/** What removes a post and leaves its page. */
function removal(post, signal) {
  const run = oneAtATime(async (action) => {
    try {
      await send(action);
      if (!signal.aborted) go(routes.home, true);
    } catch (problem) {
      showProblem(problem, () => run(action));
    }
  });
  return () => {
    if (confirm(words("removePost"))) run(prepare("DELETE", path("/v1/posts", post)));
  };
}

/** Brings the comment that the address names into view, once it is there. */
function showTarget(list, signal) {
  const wanted = new URLSearchParams(location.hash.slice(1)).get("comment");
  let isDone = !wanted;
  return async () => {
    if (isDone) return;
    const row = await list.find(wanted);
    if (!row || isDone || signal.aborted) return;
    isDone = true;
    row.classList.add("target");
    // Who comes back finds the page as it was left.
    if (!history.state?.top) row.scrollIntoView({ block: "center" });
  };
}
