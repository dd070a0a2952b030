/**
 * Requests to the server of these pages.
 */

import { end, token } from "./session.js";

// A change waits for locks, brokers and others' changes.
const askMilliseconds = 10_000;
const changeMilliseconds = 120_000;

/** Why something did not work. */
export class Problem extends Error {
  constructor({ code = "network", status = 0, title = "", detail = "", field = "" }) {
    const text = [title || "The server did not answer.", field ? `${field}: ${detail}` : detail];
    super(text.filter(Boolean).join(" "));
    Object.assign(this, { code, status });
  }
}

/** A path: each part after the first is escaped. */
export function path(base, ...parts) {
  return [base, ...parts.map(encodeURIComponent)].join("/");
}

/**
 * What is there now.
 *
 * @param {object} query null and empty values leave a parameter out
 * @throws {Problem}
 */
export function ask(address, { query = {}, signal } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== "");
  const target = given.length ? `${address}?${new URLSearchParams(given)}` : address;
  return request("GET", target, undefined, signal, askMilliseconds);
}

/**
 * A change, once: it is not known whether one without an answer was made, and looking tells.
 *
 * @throws {Problem}
 */
export function change(address, body) {
  return request("POST", address, JSON.stringify(body ?? {}), null, changeMilliseconds);
}

async function request(method, target, body, signal, milliseconds) {
  const limit = AbortSignal.timeout(milliseconds);
  const headers = { Authorization: `Bearer ${token()}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const answer = await fetch(target, {
      method, body, headers, credentials: "omit", cache: "no-store",
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    if (answer.ok) return await answer.json();
    throw await problemOf(answer);
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof Problem ? error : new Problem({});
  }
}

async function problemOf(answer) {
  if (answer.status === 401) end();
  let members = {};
  try {
    members = (await answer.json()) ?? {};
  } catch {
    // A proxy's page says nothing.
  }
  const { title, detail, field, type } = members;
  const code = String(type ?? "").split("#")[1];
  return new Problem({ code, status: answer.status, title, detail, field });
}
