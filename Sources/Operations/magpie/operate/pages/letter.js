/**
 * One dead letter: the reason, the record, what was tried and who decided what.
 */

import { ask, path } from "./ask.js";
import { element, theirs } from "./dom.js";
import { changes } from "./letters.js";
import { showProblem, table, time } from "./shell.js";

export function letterPage({ id }, signal) {
  const body = element("div");
  const actions = changes(() => [id], look).element;
  async function look() {
    try {
      const letter = await ask(path("/v1/dead-letters/letter", id), { signal });
      // What came of the last change stays.
      for (const part of actions.children) {
        part.hidden = letter.state !== "open" && part.role !== "status";
      }
      body.replaceChildren(...parts(letter), actions);
    } catch (problem) {
      showProblem(problem);
    }
  }
  look();
  const back = element("a", { href: "/dead-letters" }, "All dead letters");
  return { title: id, content: [back, body] };
}

function parts(letter) {
  const today = letter.problemToday ?? "It can be decoded; a redrive passes it to the handler.";
  const facts = [
    ["State", letter.state], ["Reason", `${letter.reasonCode}: ${letter.reason}`],
    ["With this version", today], ["Attempts", letter.attempts],
    ["Record's time", time(letter.recordTime)],
    ["Key", letter.keyText ?? letter.keyBase64], ["Type", letter.type],
    ["Value", letter.valueBytes === undefined ? "none" : `${letter.valueBytes} bytes`],
  ];
  const list = element(
    "dl", {},
    facts.filter(([, value]) => value !== undefined && value !== null).flatMap(([name, value]) => [
      element("dt", {}, name), theirs(String(value), "dd"),
    ]));
  const history = letter.history.map((entry) => [
    time(entry.time), entry.what,
    theirs(entry.reasonCode ? `${entry.reasonCode}: ${entry.reason ?? ""}` : ""),
    theirs(entry.by ?? ""), theirs(entry.note ?? ""), entry.codeVersion,
  ]);
  const headers = letter.headers.map(({ name, text, base64 }) => [
    theirs(name), theirs(text ?? base64 ?? "none"),
  ]);
  return [
    list,
    table("History", ["When", "What", "Reason", "Who", "Why", "Code"], history),
    headers.length ? table("Headers", ["Name", "Value"], headers) : null,
    content("Data", letter.data), content("Protobuf", letter.protobufFields.join("\n")),
    content("Value, the first 64 KiB in Base64", letter.valueBase64),
  ].filter(Boolean);
}

function content(title, text) {
  if (!text) return null;
  return element("details", {}, element("summary", {}, title), theirs(text, "pre"));
}
