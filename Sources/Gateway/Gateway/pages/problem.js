/**
 * Why something did not work: problem details (RFC 9457) of the gateway, or no answer at all.
 */

import { words } from "./locale.js";

const temporary = [
  "network", "body-timeout", "not-acknowledged", "overloaded", "rate-limited",
  "database-unavailable", "keys-unavailable",
];
// The gateway's explanation is English; for these it says what a person can change.
const explained = [
  "invalid-parameter", "invalid-header", "invalid-body", "unknown-member", "invalid-member",
];

export class Problem extends Error {
  /** @param {{code: string, status?: number, detail?: string, field?: string}} members */
  constructor({ code, status = 0, detail = "", field = "", retryAfter = 0 }) {
    super(`${code} ${detail}`);
    Object.assign(this, { code, status, detail, field, retryAfter });
  }

  /** Whether the same request may succeed in a moment. */
  get isTemporary() {
    return temporary.includes(this.code);
  }

  /**
   * Whether the same request is not to be sent again. With a new token it may be accepted; but who
   * wants to leave and signs in for it asks for that anew.
   */
  get isFinal() {
    const isRefused = this.status >= 400 && this.status < 500 && !this.isTemporary;
    return isRefused && (this.status !== 401 || this.code === "token-not-fresh");
  }

  /** What happened and what to do next, in the person's language. */
  get words() {
    const name = `problem-${this.code}`;
    const known = words(name);
    const text = known === name ? words("problem-internal-error") : known;
    return explained.includes(this.code) && this.detail ? `${text} (${this.detail})` : text;
  }
}

/** The problem of an answer that is none of 2xx. */
export async function problemOf(answer) {
  let members = {};
  try {
    members = (await answer.json()) ?? {};
  } catch {
    // A proxy's page says nothing about the gateway.
  }
  const code = String(members.type ?? "").split("#")[1];
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  return new Problem({
    code: code ?? (answer.status >= 500 ? "overloaded" : "internal-error"),
    status: answer.status,
    detail: members.detail,
    field: members.field,
    retryAfter,
  });
}
