/**
 * The addresses of the pages. The gateway answers each of them with index.html.
 */

const part = encodeURIComponent;

export const routes = {
  home: "/",
  following: "/following",
  search: "/search",
  alarms: "/alarms",
  messages: "/messages",
  newMessage: "/new-message",
  reminders: "/reminders",
  settings: "/settings",
  editProfile: "/edit-profile",
  post: (id, comment = "") =>
    `/post/${part(id)}${comment ? `#comment=${part(comment)}` : ""}`,
  likers: (id) => `/post/${part(id)}/likes`,
  person: (id) => `/u/${part(id)}`,
  followers: (id) => `/u/${part(id)}/followers`,
  followees: (id) => `/u/${part(id)}/following`,
  alarmPeople: (id) => `/alarms/${part(id)}/people`,
  chat: (id) => `/messages/${part(id)}`,
};

/**
 * The page that an alarm's deep link means; null if these pages have none.
 *
 * @param {string} link such as "magpie://posts/ID/comments/ID"
 */
export function routeOf(link) {
  const match = /^magpie:\/\/([^?#]*)/.exec(link ?? "");
  if (!match) return null;
  let parts;
  try {
    parts = match[1].split("/").map(decodeURIComponent);
  } catch {
    return null;
  }
  const [kind, id, second, secondID] = parts;
  if (kind === "posts" && id) return routes.post(id, second === "comments" ? secondID : "");
  if (kind === "users" && id) {
    return second === "followers" ? routes.followers(id) : routes.person(id);
  }
  if (kind === "chats" && id) return routes.chat(id);
  if (kind === "reminders") return routes.reminders;
  if (kind === "feed") return routes.home;
  if (kind === "alarms") return routes.alarms;
  return null;
}
