/**
 * `magpie verify` on a button: one run at a time, for all who look.
 */

import { ask, change } from "./ask.js";
import { button, element, theirs } from "./dom.js";
import { fill, say } from "./fill.js";
import { lookAgain } from "./refresh.js";
import { runbook, showProblem, table, time } from "./shell.js";

export function verifyPage(_, signal) {
  const start = button("Verify", run, { name: "verify" });
  const state = element("p", { role: "status", class: "outcome" });
  const checks = element("div");
  const trouble = element("p", { class: "trouble", role: "status" });

  function show(found) {
    start.disabled = found.isRunning;
    say(state, text(found));
    fill(checks, found.checks, () => found.checks.map(checkElement));
  }

  async function run() {
    start.disabled = true;
    try {
      show(await change("/v1/verification"));
    } catch (problem) {
      start.disabled = false;
      showProblem(problem);
    }
  }

  async function look() {
    try {
      show(await ask("/v1/verification", { signal }));
      say(trouble, "");
    } catch (problem) {
      if (!signal.aborted) say(trouble, problem.message);
    }
  }

  look();
  lookAgain(2, look, signal);
  const about = "Checks every invariant of the tables, which takes as long as reading all of them. "
    + "Alarms that alarm-worker has yet to write count as broken: look again when it has no lag.";
  return {
    title: "Verify",
    content: [runbook("wrong-badge"), trouble, element("p", {}, about), start, state, checks],
  };
}

function text({ isRunning, startedBy, startedAt, endedAt, checks, total, problem }) {
  if (!startedAt) return "Nobody has started it since this server began.";
  const by = `Started by ${startedBy} at ${time(startedAt)}.`;
  if (isRunning) return `${by} ${checks.length} of ${total ?? "some"} checks are done.`;
  if (problem) return `${by} It did not finish: ${problem}`;
  const broken = checks.filter((check) => check.broken > 0).length;
  const result = broken === 0
    ? "Every invariant holds." : `Checks that found something: ${broken}.`;
  return `${by} Ended at ${time(endedAt)}. ${result}`;
}

function checkElement({ name, broken, rows }) {
  if (broken === 0) return element("p", {}, `${name}: holds`);
  const found = rows.map(({ invariant, subject, expected, found: is }) => [
    theirs(invariant ?? ""), theirs(subject ?? ""), theirs(expected ?? "nothing"),
    theirs(is ?? "nothing"),
  ]);
  const heads = ["Invariant", "Subject", "Expected", "Found"];
  return table(`${name}: broken, ${broken} times`, heads, found);
}
