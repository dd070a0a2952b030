/**
 * A screen that is one thing: a post or a person. Like a list of one row.
 */

import { get, lacksOwn } from "./api.js";
import { element } from "./dom.js";
import { icon } from "./icons.js";
import { showDrafts } from "./optimistic.js";
import { exchange, skeleton } from "./rows.js";

/**
 * @param {object} options
 *   address: of the screen; build(row): its element; present(row): with drafts;
 *   absent: the row to show if the gateway has none;
 *   onRow(row): called with what is shown; signal: ends reads
 */
export function createSingle(options) {
  const { address, build, present = (row) => row, onRow = () => {}, signal } = options;
  const { absent = null } = options;
  let row = null;
  let text = "";
  let made = skeleton();
  let work = Promise.resolve();
  let waiting = null;
  const single = {
    element: element("div", { class: "single" }, made), address, refresh, redraw: draw,
  };
  showDrafts(single, signal);
  return single;

  /** Reads it again; returns whether the answer contains one's own actions. */
  function refresh() {
    waiting ??= work = work.catch(() => {}).then(async () => {
      waiting = null;
      try {
        row = await get(address, { signal });
      } catch (problem) {
        const isAbsent = problem.code === "not-found";
        if (!isAbsent || absent === null) {
          if ((isAbsent || row === null) && !signal?.aborted) fail(problem);
          throw problem;
        }
        row = absent;
      }
      draw();
      onRow(row);
      return !lacksOwn(row);
    });
    return waiting;
  }

  function fail(problem) {
    row = null;
    text = "";
    replace(element("p", { class: "empty", role: "alert" }, icon("search"), problem.words));
  }

  function draw() {
    if (row === null) return;
    const presented = present(row);
    const fresh = JSON.stringify(presented);
    if (fresh === text) return;
    text = fresh;
    replace(build(presented));
  }

  function replace(fresh) {
    exchange(made, fresh);
    made = fresh;
  }
}
