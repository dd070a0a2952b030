/**
 * Server-sent events from bytes, as the WHATWG's HTML standard prescribes ("parsing an event
 * stream", "interpreting an event stream"). EventSource cannot send the header Authorization.
 */

// A whole screen is far smaller.
const longest = 8 << 20;

export class EventParser {
  /** The id of the last event, for `Last-Event-ID`. */
  lastEventID = "";
  /** How long clients are to wait before they come back, in milliseconds; null if unknown. */
  retry = null;

  #decoder = new TextDecoder();
  #rest = "";
  #endedWithReturn = false;
  #type = "";
  #data = "";
  #id = "";

  /** @param {string} [lastEventID] of an earlier connection */
  constructor(lastEventID = "") {
    this.lastEventID = lastEventID;
    this.#id = lastEventID;
  }

  /**
   * The events that these bytes complete.
   *
   * @param {Uint8Array} bytes the next part of the stream, cut anywhere
   * @returns {{type: string, data: string, lastEventID: string}[]}
   */
  push(bytes) {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return [];
    // The second half of a CRLF that was cut in two.
    const isSecondHalf = this.#endedWithReturn && text.startsWith("\n");
    this.#endedWithReturn = text.endsWith("\r");
    const lines = (this.#rest + (isSecondHalf ? text.slice(1) : text)).split(/\r\n|\n|\r/);
    // What follows the last end of a line is no line yet; at the end of the stream it is dropped.
    this.#rest = lines.pop();
    const events = lines.map((line) => this.#take(line)).filter((event) => event !== null);
    if (this.#rest.length + this.#data.length > longest) throw new Error("an event is too long");
    return events;
  }

  /** Takes a line; returns the event that an empty line ends. */
  #take(line) {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "event") this.#type = value;
    else if (name === "data") this.#data += `${value}\n`;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) this.retry = Number(value);
    return null;
  }

  #dispatch() {
    this.lastEventID = this.#id;
    const [type, data] = [this.#type || "message", this.#data];
    this.#type = "";
    this.#data = "";
    // An event without data is none.
    return data === "" ? null : { type, data: data.slice(0, -1), lastEventID: this.lastEventID };
  }
}
