/**
 * What was just written, shown in its list while it is on its way, and after it could not be sent.
 *
 * It belongs to the address of the list, not to the page: who leaves and comes back finds it.
 */

import { send } from "./api.js";
import { button, element } from "./dom.js";
import { words } from "./locale.js";
import { showProblem } from "./notice.js";
import { readTruth } from "./optimistic.js";

/** By the list's address: elements, each with the key of its later row once that is known. */
const waiting = new Map();
/** The list that is shown, by its address. */
const lists = new Map();

/** Shows what is on its way to `address` in this list until its page is left. */
export function showPending(address, list, signal) {
  lists.set(address, list);
  signal?.addEventListener("abort", () => {
    if (lists.get(address) === list) lists.delete(address);
  }, { once: true });
}

/** What is stored before the first page is read: returns what drops it once that was read. */
export function storedPending(address) {
  const items = waiting.get(address) ?? new Set();
  const stored = [...items].filter(({ key }) => key !== null);
  return () => stored.forEach((item) => items.delete(item));
}

/** The elements of what is on its way to `address`, without those whose rows are there. */
export function pendingElements(address, keys) {
  const items = waiting.get(address) ?? [];
  for (const item of items) if (keys.has(item.key)) items.delete(item);
  return [...items].map(({ made }) => made);
}

/**
 * Shows an element in a list until the list has been read with the row that the action creates.
 *
 * @param {object} list of `createList`; its `takeBack(body)` puts a refused body back into the form
 * @param {HTMLElement} made the row as it will be
 * @param {object} action of `prepare`; sent again it creates the same row
 */
export async function sendShown({ address, refresh }, made, action) {
  const items = waiting.get(address) ?? new Set();
  waiting.set(address, items);
  const item = { made, key: null };
  const state = element("p", { class: "state", role: "status" });
  let dismiss = () => {};
  made.classList.add("pending");
  made.append(state);
  await attempt();

  async function attempt() {
    dismiss();
    state.replaceChildren(words("sending"));
    items.add(item);
    redraw();
    try {
      item.key = (await send(action)).id;
    } catch (problem) {
      return fail(problem);
    }
    state.replaceChildren(words("sent"));
    redraw();
    // Where nothing can be read now, the next look at the list finds it.
    if (lists.has(address)) await readTruth(readAll).catch(() => {});
  }

  /** The page may have been left, and be shown anew. */
  async function readAll() {
    const now = lists.get(address)?.refresh ?? refresh;
    const [, isWhole] = await Promise.all([refresh().catch(() => {}), now()]);
    return isWhole;
  }

  function fail(problem) {
    const next = problem.isFinal
      ? button(words("edit"), edit, { "data-action": "edit" }) : button(words("again"), attempt);
    state.replaceChildren(
      problem.words, " ", next, button(words("discard"), remove, { class: "plain" }));
    if (!lists.has(address)) dismiss = showProblem(problem, problem.isFinal ? null : attempt);
  }

  function edit() {
    remove();
    lists.get(address)?.takeBack(JSON.parse(action.body));
  }

  function remove() {
    dismiss();
    items.delete(item);
    redraw();
  }

  function redraw() {
    lists.get(address)?.redraw();
  }
}
