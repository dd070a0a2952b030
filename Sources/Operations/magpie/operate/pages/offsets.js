/**
 * Every partition: the stored offset, how far its log goes, and when the offset moved.
 */

import { ask } from "./ask.js";
import { element } from "./dom.js";
import { fill, say } from "./fill.js";
import { lookAgain } from "./refresh.js";
import { runbook, table, time } from "./shell.js";

export function offsetsPage(_, signal) {
  const body = element("div");
  const trouble = element("p", { class: "trouble", role: "status" });
  const onlyLag = element("input", { type: "checkbox", onchange: () => show() });
  let offsets = [];

  function show() {
    const shown = offsets.filter(({ partition }) =>
      !onlyLag.checked || partition.lag !== 0 || partition.isPastEnd);
    const groups = [...new Set(shown.map(({ partition }) => partition.group))];
    fill(body, shown, () => groups.map((group) => {
      const own = shown.filter(({ partition }) => partition.group === group);
      const heads = ["Partition", "Next", "Log", "Lag", "Epoch", "Moved at"];
      return table(group, heads, own.map(row));
    }));
  }

  async function look() {
    try {
      offsets = await ask("/v1/offsets", { signal });
      say(trouble, "");
      show();
    } catch (problem) {
      if (!signal.aborted) say(trouble, problem.message);
    }
  }

  look();
  lookAgain(10, look, signal);
  const label = element("label", { class: "row" }, onlyLag, "Only those with lag");
  return { title: "Offsets", content: [runbook("lag-grows"), trouble, label, body] };
}

function row({ partition, ownerEpoch, movedAt }) {
  const { topic, nextOffset, lowWatermark, highWatermark, lag, isCutOff, isPastEnd } = partition;
  let log = highWatermark === undefined ? "no answer" : `${lowWatermark} to ${highWatermark}`;
  if (isCutOff) log += ": records were deleted before they were applied";
  if (isPastEnd) log += ": the next offset is past the end that the broker reports";
  return [
    `${topic}/${partition.partition}`, String(nextOffset ?? "none"),
    log, String(lag ?? "unknown"), String(ownerEpoch ?? "none"), time(movedAt),
  ];
}
