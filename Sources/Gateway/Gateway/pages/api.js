/**
 * Requests to the gateway: screens are read, actions are sent.
 *
 * A screen is read behind the person's own recent actions. An action has a key and a time of its
 * own, and its repetitions have the same, so they are the same event. ETags are the browser's
 * business: it asks again with If-None-Match by itself.
 */

import { actionTime, noteServerTime } from "./clock.js";
import { randomID } from "./dom.js";
import { words } from "./locale.js";
import { say } from "./notice.js";
import { drop, keep } from "./outbox.js";
import { after, forgetOld, includes, remember } from "./positions.js";
import { Problem, problemOf } from "./problem.js";
import { end, token } from "./session.js";

// The gateway waits 5 s for an action to be applied, and 10 s for Kafka.
const requestMilliseconds = 20_000;
// How long an action is sent again by itself; then the person decides.
const actionMilliseconds = 60_000;
// The browser sends 64 KiB of what outlives its page; a character may take three bytes.
const outlivingCharacters = 5000;

/** A path of the API: each part after the first is escaped. */
export function path(base, ...parts) {
  return [base, ...parts.map(encodeURIComponent)].join("/");
}

/** What was read without what one has just done. */
const incomplete = new WeakSet();
/** The positions behind which each answer was read, or at which an action is stored. */
const positionsOf = new WeakMap();
/** Who waits for an answer with it. */
const waiting = new Set();
let lastLate = "";

/** Whether the answer of `get` lacks what one has just done, because it is not applied yet. */
export const lacksOwn = (body) => incomplete.has(body);

/** Whether the answer of `get` contains the action that `send` answered so. */
export const contains = (body, answer) =>
  includes(positionsOf.get(body) ?? "", positionsOf.get(answer) ?? "");

/**
 * A screen as it is now, with what one has just done, unless it `lacksOwn`.
 *
 * @throws {Problem}
 */
export async function get(address, { query = {}, signal } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const target = given.length ? `${address}?${new URLSearchParams(given)}` : address;
  const positions = after();
  const waitingNow = [...waiting];
  try {
    const body = await read(target, positions, signal);
    for (const tell of waitingNow) tell(address);
    positionsOf.set(body, positions);
    return body;
  } catch (problem) {
    if (problem.code !== "not-applied-yet") throw problem;
    // What there is is better than nothing.
    forgetOld();
    const newest = positions.split(",").at(-1);
    // Once for each action, however often it is looked for.
    if (newest !== lastLate) say(words("problem-not-applied-yet"));
    lastLate = newest;
    const body = await read(target, "", signal);
    incomplete.add(body);
    return body;
  }
}

/**
 * Waits for the answer to a question that begins from now on, with what one has just done.
 *
 * @param {function} suits called with the address of a screen
 * @param {number} milliseconds the longest wait
 */
export async function nextWhole(suits, milliseconds) {
  let tell;
  await new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    tell = (address) => suits(address) && resolve();
    waiting.add(tell);
  });
  waiting.delete(tell);
}

async function read(target, positions, signal) {
  const headers = positions ? { "Magpie-After": positions } : {};
  try {
    return (await request("GET", target, headers, undefined, signal)).body;
  } catch (problem) {
    if (!problem.isTemporary) throw problem;
    await pause(problem.retryAfter || 0.5, signal);
    return (await request("GET", target, headers, undefined, signal)).body;
  }
}

/**
 * An action that happens now, to be sent once or more.
 *
 * @param {object} [body]
 * @param {string} [notBefore] see `actionTime`
 */
export function prepare(method, address, body, notBefore) {
  const headers = { "Idempotency-Key": randomID(), "Magpie-Time": actionTime(notBefore) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return { method, address, headers, body: body === undefined ? body : JSON.stringify(body) };
}

/**
 * Sends an action, again and again for a minute if there is no answer.
 *
 * @returns the answer's body
 * @throws {Problem}
 */
export async function send(action) {
  keep(action);
  try {
    return await sendUntilAnswered(action);
  } finally {
    drop(action);
  }
}

async function sendUntilAnswered(action) {
  const deadline = Date.now() + actionMilliseconds;
  for (let attempt = 0; ; attempt += 1) {
    const headers = { ...action.headers };
    // The author of a post is read first, so a post of a moment ago must be there. Reminders are
    // counted first.
    const [, name] = action.address.match(/^\/v1\/(posts|reminders|cycles)\//) ?? [];
    const awaited = name && after(name === "cycles" ? "reminders" : name);
    if (awaited) headers["Magpie-After"] = awaited;
    try {
      const answer = await request(action.method, action.address, headers, action.body);
      const position = answer.headers.get("Magpie-Position") ?? "";
      remember(position);
      positionsOf.set(answer.body, position);
      return answer.body;
    } catch (problem) {
      const mayRepeat = problem.isTemporary || problem.code === "not-applied-yet";
      const seconds = problem.retryAfter || Math.min(8, 0.5 * 2 ** attempt);
      if (!mayRepeat || Date.now() + seconds * 1000 > deadline) throw problem;
      await pause(seconds);
    }
  }
}

async function request(method, target, headers, body, signal) {
  const limit = AbortSignal.timeout(requestMilliseconds);
  try {
    const answer = await fetch(target, {
      method,
      body,
      headers: { Authorization: `Bearer ${token()}`, ...headers },
      credentials: "omit",
      keepalive: method !== "GET" && (body?.length ?? 0) <= outlivingCharacters,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    noteServerTime(answer.headers.get("Date"));
    if (answer.ok) return { headers: answer.headers, body: await answer.json() };
    const problem = await problemOf(answer);
    if (problem.status === 401 && problem.code !== "token-not-fresh") end();
    throw problem;
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof Problem ? error : new Problem({ code: "network" });
  }
}

/** Waits, with some jitter, but no longer once the network is back. */
async function pause(seconds, signal) {
  const over = new AbortController();
  await new Promise((resolve) => {
    const milliseconds = seconds * 1000 * (0.75 + Math.random() / 2);
    const timer = setTimeout(resolve, milliseconds);
    over.signal.addEventListener("abort", () => clearTimeout(timer));
    addEventListener("online", resolve, { signal: over.signal });
    signal?.addEventListener("abort", resolve, { signal: over.signal });
  });
  over.abort();
  signal?.throwIfAborted();
}
