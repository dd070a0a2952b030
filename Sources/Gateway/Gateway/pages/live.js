/**
 * The stream of one's own screens: badge, alarms, conversations, each whole as it is now.
 *
 * Whoever subscribes gets the latest state at once and each later one. A stream that ends or is cut
 * comes back with `Last-Event-ID`, later and later while it fails, and at once when the network
 * comes back or somebody looks at the page again.
 */

import { EventParser } from "./events.js";
import { watchPresence } from "./presence.js";
import { problemOf } from "./problem.js";
import { run, runFailed } from "./repeat.js";
import { end, hasEnded, token } from "./session.js";

// The gateway sends a comment every 15 s.
const silenceMilliseconds = 40_000;
// Somebody who comes back does not wait for as long.
const staleMilliseconds = 20_000;
const longestPause = 60_000;
const mostWatched = 20;

const states = new Map();
const watchers = new Set();
const subscribers = new Map();
const statusListeners = [];
let parser = new EventParser();
let base = 1000;
let failures = 0;
let leastPause = 0;
let connection = null;
let isOpen = false;
let heard = 0;
let wake = () => {};
let isAway = false;
let isRenewing = false;
let renewal = 0;
let sentPaths = [];

/**
 * Calls `handler` with the state now, if it is known, and with each new one. If the promise that it
 * may return is rejected, it is called again later.
 *
 * @param {string} name badge, alarms or conversations
 */
export function subscribe(name, handler, signal) {
  const handlers = subscribers.get(name) ?? new Set();
  subscribers.set(name, handlers.add(handler));
  signal?.addEventListener("abort", () => handlers.delete(handler), { once: true });
  if (states.has(name)) show(name, handler);
}

/**
 * Calls `look` when one of the screens at `paths` has changed, and once soon after the beginning.
 * If the promise that it returns is rejected, it is called again later.
 *
 * @param {string[]} paths of the API, with their queries
 * @returns {function} watches other paths instead
 */
export function watch(paths, look, signal) {
  const watcher = { paths, look, timer: null };
  if (signal.aborted) return () => {};
  watchers.add(watcher);
  signal.addEventListener("abort", () => watchers.delete(watcher), { once: true });
  renewSoon();
  return (others) => {
    watcher.paths = others;
    renewSoon();
  };
}

/** A stream begins with what it is to send: what is new to it needs another one, once for all. */
function renewSoon() {
  clearTimeout(renewal);
  renewal = setTimeout(() => {
    if (!watchedPaths().every((path) => sentPaths.includes(path))) connectAnew();
  }, 100);
}

function connectAnew() {
  isRenewing = true;
  connection?.abort();
  wake();
}

/** Several screens change at once: one look is enough. */
function lookSoon(watcher) {
  watcher.timer ??= setTimeout(() => {
    watcher.timer = null;
    run(watcher, watcher.look, () => watchers.has(watcher) && lookSoon(watcher));
  }, 30);
}

function show(name, handler) {
  run(handler, () => handler(states.get(name)), () => {
    if (subscribers.get(name).has(handler)) show(name, handler);
  });
}

function watchedPaths() {
  const paths = [...watchers].flatMap((watcher) => watcher.paths);
  return [...new Set(paths)].slice(0, mostWatched);
}

/** Calls `listener` with true when the stream is open, and with false when it is cut. */
export function onStatus(listener) {
  statusListeners.push(listener);
}

/** Keeps the stream open until the session ends. */
export async function start() {
  addEventListener("online", () => wake());
  addEventListener("offline", () => connection?.abort());
  watchPresence(() => {
    isAway = true;
    connection?.abort();
  }, () => {
    isAway = false;
    // The network may have gone while the device slept.
    const isStale = Date.now() - heard > staleMilliseconds;
    if (isStale || !isOpen) report(false);
    if (isStale) connectAnew();
    else wake();
  });
  while (!hasEnded()) {
    if (!isAway) await stream();
    if (!hasEnded() && !isRenewing) await pause();
    isRenewing = false;
  }
}

async function stream() {
  connection = new AbortController();
  const silence = setInterval(() => {
    if (Date.now() - heard > silenceMilliseconds) connection.abort();
  }, 5000);
  heard = Date.now();
  try {
    const headers = { Authorization: `Bearer ${token()}`, Accept: "text/event-stream" };
    if (parser.lastEventID) headers["Last-Event-ID"] = parser.lastEventID;
    sentPaths = watchedPaths();
    const query = sentPaths.length ? `?watch=${encodeURIComponent(sentPaths.join(","))}` : "";
    const answer = await fetch(`/v1/stream${query}`, {
      headers, cache: "no-store", credentials: "omit", signal: connection.signal,
    });
    if (answer.status === 401) return end();
    if (!answer.ok) throw await problemOf(answer);
    parser = new EventParser(parser.lastEventID);
    report(true);
    const reader = answer.body.getReader();
    while (true) {
      const { value, done } = await reader.read();
      if (done) break;
      heard = Date.now();
      failures = 0;
      runFailed();
      for (const event of parser.push(value)) publish(event);
      base = parser.retry ?? base;
    }
  } catch (problem) {
    if (!isRenewing && !isAway) failures += 1;
    // The gateway knows when there is room again.
    leastPause = (problem.retryAfter ?? 0) * 1000;
  } finally {
    clearInterval(silence);
    connection.abort();
    if (!isRenewing) report(false);
  }
}

function publish({ type, data }) {
  const state = JSON.parse(data);
  if (type === "watched") {
    for (const watcher of watchers) if (watcher.paths.includes(state.path)) lookSoon(watcher);
    return;
  }
  states.set(type, state);
  for (const handler of subscribers.get(type) ?? []) show(type, handler);
}

function report(isNowOpen) {
  isOpen = isNowOpen;
  for (const listener of statusListeners) listener(isOpen);
}

/** Waits before the next connection: with jitter, up to a limit that doubles. */
async function pause() {
  const limit = Math.min(longestPause, base * 2 ** Math.min(failures, 10));
  const milliseconds = Math.max(leastPause, limit / 2 + (Math.random() * limit) / 2);
  leastPause = 0;
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, isAway ? longestPause : milliseconds);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  wake = () => {};
}
