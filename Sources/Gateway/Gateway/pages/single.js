/**
 * A screen that is one thing: a post or a person. Like a list of one row.
 */

import { get } from "./api.js";
import { element } from "./dom.js";
import { exchange } from "./list.js";
import { words } from "./locale.js";

/**
 * @param {object} options
 *   address: of the screen; build(row, single): its element; present(row): with drafts;
 *   onRow(row): called with what is shown; signal: ends reads
 */
export function createSingle({ address, build, present = (row) => row, onRow = () => {}, signal }) {
  let row = null;
  let text = "";
  let made = element("p", { class: "empty" }, words("loading"));
  let work = Promise.resolve();
  let waiting = null;
  const single = { element: element("div", { class: "single" }, made), refresh, redraw: draw };
  return single;

  function refresh() {
    waiting ??= work = work.catch(() => {}).then(async () => {
      waiting = null;
      try {
        row = await get(address, { signal });
      } catch (problem) {
        if (problem.code === "not-found") fail(problem);
        else if (row === null && !signal?.aborted) fail(problem);
        throw problem;
      }
      draw();
      onRow(row);
    });
    return waiting;
  }

  function fail(problem) {
    row = null;
    text = "";
    replace(element("p", { class: "empty", role: "alert" }, problem.words));
  }

  function draw() {
    if (row === null) return;
    const presented = present(row);
    const fresh = JSON.stringify(presented);
    if (fresh === text) return;
    text = fresh;
    replace(build(presented, single));
  }

  function replace(fresh) {
    exchange(made, fresh);
    made = fresh;
  }
}
