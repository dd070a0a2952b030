/**
 * A person with their posts, whom they follow and who follows them; and editing one's own profile.
 */

import { get, path, prepare } from "./api.js";
import { element, field, theirs } from "./dom.js";
import { onSubmit, saveProfile } from "./forms.js";
import { icon } from "./icons.js";
import { avatar } from "./image.js";
import { postList } from "./home.js";
import { createList } from "./list.js";
import { watch } from "./live.js";
import { number, words } from "./locale.js";
import { choice, menu } from "./menu.js";
import { showProblem } from "./notice.js";
import { attempt, drafted } from "./optimistic.js";
import { followButton, nameOf, personRow, withPerson } from "./people.js";
import { relation } from "./post.js";
import { go } from "./router.js";
import { routes } from "./routes.js";
import { person } from "./session.js";
import { setTitle } from "./shell.js";
import { createSingle } from "./single.js";

// The members of a profile's edit, with the bytes that an event takes of each.
const members = [["nickname", 1024], ["name", 512], ["major", 512], ["bio", 4096]];

export function profilePage({ user }, signal) {
  const single = createSingle({
    address: path("/v1/profiles", user), present: (row) => withPerson(user, row), signal,
    build: profileHead, onRow: (row) => setTitle(nameOf(row.shown_name), signal),
    absent: user === person() ? noProfile : null,
  });
  single.refresh().catch(() => {});
  watch([path("/v1/profiles", user)], single.refresh, signal);
  const posts = postList(path("/v1/profiles", user, "posts"), words("noPosts"), signal);
  posts.element.classList.add("profile-posts");
  return { title: words("profile"), back: routes.home, content: [single.element, posts.element] };
}

/** One's own, before the first event that says who one is. */
const noProfile = {
  user_id: person(), shown_name: "", name: "", major: "", bio: "", image_url: "", posts: 0,
  followers: 0, following: 0,
};

function profileHead(row) {
  const name = nameOf(row.shown_name);
  const isOwn = row.user_id === person();
  const about = [row.name === name ? "" : row.name, row.major].filter((text) => text);
  return element(
    "section", { class: "profile", "aria-label": name },
    element(
      "header", {}, avatar(row.shown_name, row.image_url, row.user_id),
      element(
        "div", { class: "about" }, element("h2", {}, theirs(name, "bdi")),
        about.length
          ? element(
            "p", { class: "soft" },
            ...about.flatMap((text, index) => [index ? " · " : "", theirs(text, "bdi")]))
          : null,
        row.follows_viewer && !isOwn
          ? element("p", { class: "tag" }, words("followsYou")) : null)),
    element(
      "ul", { class: "counts" },
      count(row.posts, words("posts")),
      count(row.followers, words("followers"), routes.followers(row.user_id)),
      count(row.following, words("followees"), routes.followees(row.user_id))),
    row.bio ? theirs(row.bio, "p", { class: "text" }) : null,
    element("div", { class: "actions" }, ...(isOwn ? [editLink()] : toggles(row))));
}

function count(value, label, address = null) {
  const parts = [
    element("strong", {}, number(value)), " ", element("span", { class: "soft" }, label),
  ];
  return element("li", {}, address ? element("a", { href: address }, ...parts) : parts);
}

const editLink = () =>
  element(
    "a", { class: "plain button", href: routes.editProfile }, icon("pencil"), words("editProfile"));

function toggles(row) {
  const toggle = (part, picture, member, labels, ask = null) => {
    const isOn = row[member];
    const run = () => {
      if (!isOn && ask && !confirm(ask)) return;
      const action = prepare(isOn ? "DELETE" : "PUT", path("/v1/profiles", row.user_id, part));
      attempt(`person/${row.user_id}`, { [member]: !isOn }, action);
    };
    return choice(picture, words(labels[isOn ? 1 : 0]), run, { "data-action": part });
  };
  return [
    row.is_blocked ? null : followButton(row.user_id, row.shown_name, row),
    row.is_blocked ? null : element(
      "a", { class: "plain button", href: routes.chat(row.user_id) }, icon("envelope"),
      words("message")),
    menu(
      toggle("mute", "bell", "is_muted", ["mute", "unmute"]),
      toggle("block", "block", "is_blocked", ["block", "unblock"], words("askBlock"))),
  ];
}

export function followersPage({ user }, signal) {
  return peoplePage(user, "followers", words("followers"), signal);
}

export function followeesPage({ user }, signal) {
  return peoplePage(user, "following", words("followees"), signal);
}

function peoplePage(user, part, title, signal) {
  const list = createList({
    address: path("/v1/profiles", user, part), label: title, signal,
    empty: [icon("people"), words("nobody")], keyOf: (row) => row.user_id,
    present: (row) => withPerson(row.user_id, row),
    build: (row) => personRow(row, row.name, ...relation(row, row.followed_at)),
  });
  list.refresh().catch(() => {});
  return { title, back: routes.person(user), content: [list.element] };
}

export function editProfilePage(parameters, signal) {
  const frame = element("div", {}, element("p", { class: "empty" }, words("loading")));
  get(path("/v1/profiles", person()), { signal })
    // A person whom no event has named yet has no profile.
    .catch((problem) => (problem.code === "not-found" ? {} : Promise.reject(problem)))
    .then((row) => frame.replaceChildren(editForm(drafted(`person/${person()}`, row), signal)))
    .catch((problem) => showProblem(problem, () => go(routes.editProfile)));
  return { title: words("editProfile"), back: routes.person(person()), content: [frame] };
}

function editForm(row, signal) {
  const inputs = members.map(([name, most]) => {
    const isLong = name === "bio";
    const input = element(isLong ? "textarea" : "input", {
      name, dir: "auto", maxlength: Math.floor(most / 4), rows: isLong ? 3 : null,
    });
    input.value = row[name] ?? "";
    return field(words(name), input);
  });
  const image = element("input", {
    name: "image_url", type: "url", pattern: "https://.*", placeholder: "https://", maxlength: 2048,
  });
  image.value = row.image_url ?? "";
  const form = element(
    "form", { class: "fields" }, ...inputs, field(words("picture"), image),
    element("button", { type: "submit" }, words("save")));
  onSubmit(form, async (values) => {
    await saveProfile(values, row);
    if (!signal.aborted) go(routes.person(person()), true);
  }, signal);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") go(routes.person(person()), true);
  });
  return form;
}
