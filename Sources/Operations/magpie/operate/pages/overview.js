/**
 * The first page: how the workers are, in plots that move, and what needs somebody.
 */

import { ask } from "./ask.js";
import { element } from "./dom.js";
import { fill, say } from "./fill.js";
import { count, duration, perSecond, plot } from "./plot.js";
import { lookAgain } from "./refresh.js";
import { newest, rates, single, take, values } from "./series.js";
import { runbook, table, time } from "./shell.js";

const spans = [5, 15, 60];
let minutes = 15;

export function overviewPage(_, signal) {
  const plots = [
    [plot("Lag, records", count), () => values("lag")],
    [plot("Throughput, records", perSecond), () => rates("applied")],
    [plot("Oldest waiting record", duration), () => values("lagSeconds")],
    [plot("Event to commit, 95 %", duration), () => values("eventAge")],
    [plot("Errors and retries", perSecond), () => values("errors")],
    [plot("Ready processes", count), () => values("ready")],
    [plot("Open dead letters", count), () => single("openDeadLetters", "open")],
  ];
  const choice = element(
    "select", { "aria-label": "Time shown", onchange: (event) => show(Number(event.target.value)) },
    spans.map((each) =>
      element("option", { value: each, selected: each === minutes }, `${each} minutes`)));
  const trouble = element("p", { class: "trouble", role: "status" });
  const attention = element("div", { class: "attention" });
  const processes = element("div");

  function show(span = minutes) {
    minutes = span;
    for (const [each, series] of plots) each.draw(series(), minutes);
  }

  async function look() {
    try {
      const overview = await ask("/v1/overview", { query: { after: newest() }, signal });
      take(overview);
      say(trouble, overview.problem ?? "");
      // The samples are new each time.
      const { samples, ...state } = overview;
      fill(attention, state, () => needs(overview));
      fill(processes, state.processes, () => [processTable(state.processes)]);
      show();
    } catch (problem) {
      if (!signal.aborted) say(trouble, problem.message);
    }
  }

  show();
  look();
  lookAgain(5, look, signal);
  return {
    title: "Overview",
    content: [
      trouble, attention, choice,
      element("div", { class: "plots" }, plots.map(([each]) => each.element)), processes,
    ],
  };
}

/** What needs somebody, each with its runbook. */
function needs(overview) {
  const found = [];
  const say = (text, name, link = null) => found.push(
    element("div", { class: "need" }, element("p", {}, text, " ", link), runbook(name)));
  if (overview.openDeadLetters > 0) {
    const link = element("a", { href: "/dead-letters" }, "Look at them");
    const text = overview.openDeadLetters === 1
      ? "1 dead letter is open." : `${overview.openDeadLetters} dead letters are open.`;
    say(text, "dead-letters", link);
  }
  if (overview.cutOff.length) {
    const text = `The log does not hold the stored offset of ${overview.cutOff.join(", ")}.`;
    say(text, "log-truncated-past-our-offset");
  }
  if (overview.missingTopics.length) {
    say(`These topics do not exist: ${overview.missingTopics.join(", ")}.`, "topics");
  }
  if (overview.unanswered.length) {
    say(`Partitions whose leaders do not answer: ${overview.unanswered.length}.`, "lag-grows");
  }
  if (overview.overdueReminders > 0) {
    say(`Reminders that are overdue: ${overview.overdueReminders}.`, "reminders-are-late");
  }
  const away = overview.processes.filter(({ isReady }) => !isReady);
  if (away.length) {
    const names = away.map(({ name, address }) => `${name} at ${address}`);
    say(`Not ready: ${names.join(", ")}.`, "a-worker-restarts");
  }
  const { pending } = overview;
  if (pending) {
    const parts = Object.entries(pending).filter(([, number]) => number > 0);
    if (parts.length) {
      found.push(element(
        "p", {}, `In the background: ${parts.map(([name, n]) => `${n} ${name}`).join(", ")}.`));
    }
  }
  for (const rebuild of overview.rebuilds) {
    say(rebuildText(rebuild), "rebuild-after-a-bug");
  }
  return found;
}

function rebuildText({ schema, wasInUse, isRunning, tableGroups, applied, total, completedAt }) {
  const what = tableGroups ? tableGroups.join(", ") : "some tables";
  if (wasInUse) return `The former tables of ${what} are still in ${schema}.`;
  const state = isRunning ? "A process is working on it" : "No process is working on it";
  const share = total > 0 ? ` ${Math.floor((100 * applied) / total)} % of the records.` : "";
  return completedAt
    ? `Rebuilt tables of ${what} are in ${schema}, complete since ${time(completedAt)}.`
    : `A rebuild of ${what} is in ${schema}. ${state}.${share}`;
}

function processTable(processes) {
  const rows = processes.map((each) => [
    each.name, each.address,
    each.answers ? (each.isReady ? "ready" : "not ready") : "no answer",
    each.lagSeconds === undefined ? "" : duration(each.lagSeconds),
    each.residentBytes === undefined ? "" : `${Math.round(each.residentBytes / 2 ** 20)} MiB`,
    each.startedAt === undefined ? "" : time(new Date(each.startedAt * 1000).toISOString()),
    each.version,
  ]);
  const heads = ["Process", "Address", "State", "Oldest record", "Memory", "Since", "Version"];
  return table("Processes", heads, rows);
}
