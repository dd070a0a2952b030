/**
 * What was just written, shown in its list while it is on its way, and after it could not be sent.
 */

import { send } from "./api.js";
import { button, element, randomID } from "./dom.js";
import { words } from "./locale.js";

/**
 * Shows an element in a list until the list has the row that the action creates.
 *
 * @param {HTMLElement} made the row as it will be
 * @param {object} action of `prepare`; sent again it creates the same row
 */
export async function sendShown(list, made, action) {
  const name = randomID();
  const state = element("p", { class: "state", role: "status" });
  made.classList.add("pending");
  made.append(state);
  await attempt();

  async function attempt() {
    state.replaceChildren(words("sending"));
    list.addPending(name, made);
    try {
      const answer = await send(action);
      state.replaceChildren(words("sent"));
      list.addPending(name, made, answer.id);
      await list.refresh().catch(() => {});
    } catch (problem) {
      state.replaceChildren(
        problem.words, " ", button(words("again"), attempt),
        button(words("discard"), () => list.removePending(name), { class: "plain" }));
    }
  }
}
