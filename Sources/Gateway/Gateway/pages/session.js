/**
 * Who is signed in, with which token.
 *
 * The token comes in the address's fragment (`#token=…`), which browsers send to nobody. It is
 * moved to sessionStorage, which lasts as long as the tab, and taken out of the address and the
 * history at once.
 * What the token says is read only to show it: the gateway verifies every request.
 */

const storageName = "magpie.token";
const formerName = "magpie.person";
const endListeners = [];
let isEnded = false;

let current = take();
// A new link that is opened in this tab changes the fragment only.
addEventListener("hashchange", () => {
  if (fromAddress()) location.reload();
});

/** The token; empty if nobody is signed in. */
export const token = () => current;

/** The id of the person who is signed in; empty if nobody is. */
export const person = () => claims(current).sub ?? "";

/** When the token ends; null if there is none. */
export function expiry() {
  const seconds = claims(current).exp;
  return typeof seconds === "number" ? new Date(seconds * 1000) : null;
}

/** Signs in with a token that was pasted. */
export function signIn(text) {
  replace(text.trim());
}

/** Forgets the person and what they did, and begins anew. */
export function signOut() {
  sessionStorage.clear();
  current = "";
  location.assign("/");
}

/** Asks for another token. What the person did, and nobody has answered, is kept for them. */
export function signInAgain() {
  sessionStorage.setItem(formerName, person());
  sessionStorage.removeItem(storageName);
  location.assign("/");
}

/** Calls `listener` once the token is no longer valid. */
export function onEnd(listener) {
  endListeners.push(listener);
}

/** The gateway refused the token: only its clock tells whether its time is over. */
export function end() {
  if (isEnded) return;
  isEnded = true;
  for (const listener of endListeners) listener();
}

/** Whether the token is no longer valid. */
export const hasEnded = () => isEnded;

function take() {
  const fresh = fromAddress();
  const stored = sessionStorage.getItem(storageName) ?? "";
  if (!fresh) return stored;
  history.replaceState(history.state, "", location.pathname + location.search);
  replace(fresh);
  return fresh;
}

function replace(fresh) {
  const stored = claims(sessionStorage.getItem(storageName) ?? "");
  const former = stored.sub ?? sessionStorage.getItem(formerName);
  // What one person did is no other person's.
  if (claims(fresh).sub !== former) sessionStorage.clear();
  sessionStorage.removeItem(formerName);
  sessionStorage.setItem(storageName, fresh);
}

function fromAddress() {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
}

function claims(text) {
  try {
    const part = text.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (character) => character.codePointAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) ?? {};
  } catch {
    return {};
  }
}
