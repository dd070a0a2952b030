/**
 * The beginning: the person, their language, the stream and the page of the address.
 */

// First: it takes the token out of the address.
import { end, person, token } from "./session.js";

import { alarmPeoplePage, alarmsPage } from "./alarms.js";
import { get } from "./api.js";
import { element } from "./dom.js";
import { followingPage, homePage } from "./home.js";
import { icon } from "./icons.js";
import { start } from "./live.js";
import { setLocale, words } from "./locale.js";
import { chatPage, messagesPage } from "./messages.js";
import { sendUnanswered } from "./pending.js";
import { likersPage, postPage } from "./post.js";
import { editProfilePage, followeesPage, followersPage, profilePage } from "./profile.js";
import { remindersPage } from "./reminders.js";
import { startRouter } from "./router.js";
import { routes } from "./routes.js";
import { newMessagePage, searchPage } from "./search.js";
import { settingsPage } from "./settings.js";
import { applyLocale, showPage, startShell, storedLocale } from "./shell.js";
import { showSignIn } from "./signin.js";
import { keepTimes } from "./time.js";
import { whenNobodyWrites } from "./typing.js";

const pages = [
  [routes.home, homePage],
  [routes.following, followingPage],
  [routes.search, searchPage],
  [routes.alarms, alarmsPage],
  ["/alarms/:alarm/people", alarmPeoplePage],
  [routes.messages, messagesPage],
  [routes.newMessage, newMessagePage],
  ["/messages/:peer", chatPage],
  ["/post/:post", postPage],
  ["/post/:post/likes", likersPage],
  ["/u/:user", profilePage],
  ["/u/:user/followers", followersPage],
  ["/u/:user/following", followeesPage],
  [routes.editProfile, editProfilePage],
  [routes.reminders, remindersPage],
  [routes.settings, settingsPage],
];

setLocale(storedLocale());
if (!token() || !person()) {
  showSignIn();
} else {
  startShell();
  startRouter(pages, (page, parameters, signal) => {
    showPage(page ? page(parameters, signal) : nothing());
  });
  keepTimes();
  start();
  sendUnanswered();
  ownLocale();
}

function nothing() {
  const text = element("p", { class: "empty" }, icon("search"), words("problem-not-found"));
  return { title: words("notFound"), back: routes.home, content: [text] };
}

/** The person's own language. Settings are there before anybody has a profile. */
async function ownLocale() {
  try {
    const settings = await get("/v1/settings");
    await whenNobodyWrites();
    applyLocale(settings.locale);
  } catch (problem) {
    if (problem.status === 401) end();
  }
}
