/**
 * Dead letters: how many of which reason, a list, and what to do with those that are chosen.
 */

import { ask, change, path } from "./ask.js";
import { button, element, field, theirs } from "./dom.js";
import { runbook, showProblem, table, time } from "./shell.js";

const states = ["open", "redriven", "discarded", "rebuilt"];
const pageSize = 100;
const outcomes = {
  redriven: "redriven", failed: "failed again", passedOver: "passed over",
  discardOnly: "can only be discarded", discarded: "discarded",
};

export function lettersPage(_, signal) {
  const query = { state: "open", group: "", topic: "", reason: "", after: "" };
  const counts = element("div");
  const list = element("div");
  const chosen = new Set();
  // Answers may come in another order than they were asked for.
  let newest = 0;
  const actions = changes(() => [...chosen], reload);
  const choice = element(
    "select",
    {
      "aria-label": "State", name: "state",
      onchange: (event) => narrow({ state: event.target.value }),
    },
    states.map((state) => element("option", { value: state }, state)));

  function narrow(members) {
    Object.assign(query, { after: "" }, members);
    chosen.clear();
    list.replaceChildren();
    actions.update();
    look();
  }

  async function look() {
    newest += 1;
    const mine = newest;
    try {
      const page = await ask("/v1/dead-letters", { query: { ...query, limit: pageSize }, signal });
      if (mine !== newest) return;
      chosen.clear();
      list.replaceChildren(...listOf(page));
      actions.update();
    } catch (problem) {
      showProblem(problem);
    }
  }

  async function countAll() {
    try {
      const found = await ask("/v1/dead-letters/counts", { signal });
      counts.replaceChildren(found.length ? countTable(found) : element("p", {}, "None is open."));
    } catch (problem) {
      showProblem(problem);
    }
  }

  function reload() {
    look();
    countAll();
  }

  function countTable(found) {
    const rows = found.map(({ group, topic, reasonCode, count, oldest, newest }) => [
      button(reasonCode, () => {
        choice.value = "open";
        narrow({ state: "open", group, topic, reason: reasonCode });
      }),
      group, topic, String(count), time(oldest), time(newest),
    ]);
    const heads = ["Reason", "Group", "Topic", "Number", "Oldest", "Newest"];
    return table("Open, by reason", heads, rows);
  }

  function listOf({ items, next }) {
    const isOpen = query.state === "open";
    const boxes = [];
    const choose = (id, isChosen) => {
      if (isChosen) chosen.add(id);
      else chosen.delete(id);
      actions.update();
    };
    const rows = items.map((letter) => {
      const box = element("input", {
        type: "checkbox", "aria-label": letter.id, disabled: !isOpen,
        onchange: (event) => choose(letter.id, event.target.checked),
      });
      boxes.push([letter.id, box]);
      return [
        box, element("a", { href: path("/dead-letters", letter.id) }, letter.id),
        letter.reasonCode, theirs(letter.reason), String(letter.attempts),
        time(letter.deadLetteredAt),
        ...(isOpen ? [] : [theirs(`${letter.resolvedBy ?? ""}: ${letter.resolution ?? ""}`)]),
      ];
    });
    const all = button("Choose all on this page", () => {
      for (const [id, box] of boxes) {
        box.checked = true;
        chosen.add(id);
      }
      actions.update();
    }, { disabled: !isOpen || items.length === 0 });
    const heads = ["", "Dead letter", "Reason", "What went wrong", "Attempts", "When"];
    if (!isOpen) heads.push("Who and why");
    const more = next ? button("Next page", () => narrow({ after: next })) : null;
    const kind = [query.group, query.topic, query.reason].filter(Boolean).join(", ");
    const caption = kind ? `${query.state}: ${kind}` : query.state;
    return [all, table(caption, heads, rows), more].filter(Boolean);
  }

  reload();
  const everything = button("All kinds", () => narrow({ group: "", topic: "", reason: "" }));
  return {
    title: "Dead letters",
    content: [
      runbook("dead-letters"), counts, element("div", { class: "row" }, choice, everything),
      actions.element, list,
    ],
  };
}

/**
 * A reason and two buttons. What they do cannot be undone, so the second click does it.
 *
 * @param {function} ids which dead letters
 * @param {function} done called after a change
 */
export function changes(ids, done) {
  const reason = element("textarea", { name: "reason", rows: 2, maxlength: 2000 });
  const outcome = element("p", { role: "status", class: "outcome" });
  const redrive = button(
    "", (event) => press(event, redrive, "/v1/redrives"), { name: "redrive" });
  const discard = button(
    "", (event) => press(event, discard, "/v1/discards"), { name: "discard" });
  let armed = null;
  let isBusy = false;
  reason.addEventListener("input", update);

  function update() {
    armed = null;
    const number = ids().length;
    redrive.textContent = `Redrive ${number}`;
    discard.textContent = `Discard ${number}`;
    const isReady = number > 0 && reason.value.trim() !== "";
    redrive.disabled = discard.disabled = isBusy || !isReady;
  }

  async function press(event, pressed, address) {
    // The second click of a double click is no second thought.
    if (event.detail > 1) return;
    if (armed !== pressed) {
      update();
      armed = pressed;
      pressed.textContent += ": sure?";
      return;
    }
    isBusy = true;
    update();
    try {
      const result = await change(address, { ids: ids(), reason: reason.value.trim() });
      const parts = Object.entries(outcomes).filter(([name]) => result[name] > 0);
      const text = parts.map(([name, said]) => `${result[name]} ${said}`).join(", ");
      outcome.textContent = text || "Nothing was changed.";
      reason.value = "";
    } catch (problem) {
      showProblem(problem);
    }
    isBusy = false;
    update();
    done();
  }

  update();
  const made = element(
    "div", { class: "changes" },
    field("Why", reason, "Stored with each dead letter, and your name."),
    element("div", { class: "row" }, redrive, discard), outcome);
  return { element: made, update };
}
