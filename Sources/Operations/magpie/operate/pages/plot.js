/**
 * Small plots: a line for each name over the last minutes, drawn anew with each sample.
 */

import { element } from "./dom.js";

const space = "http://www.w3.org/2000/svg";
const width = 300;
const height = 80;
// The same colour in each plot.
const known = ["fanout", "notification", "alarm", "reminder", "gateway"];

/**
 * @param {string} title
 * @param {function} format a value as text
 * @returns {{element: Element, draw: function}} `draw(series, minutes)` with series of series.js
 */
export function plot(title, format) {
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const top = element("span", { class: "top" });
  const legend = element("ul", { class: "legend" });
  const figure = element(
    "figure", {}, element("figcaption", {}, title, " ", top), picture, legend);

  function draw(series, minutes) {
    const points = [...series.values()].flat();
    const end = Math.max(...points.map(({ time }) => time), 0);
    const start = end - minutes * 60;
    const shown = points.filter(({ time, value }) => time >= start && value !== null);
    const highest = Math.max(...shown.map(({ value }) => value), 0);
    const x = (time) => ((time - start) / (end - start)) * width;
    const y = (value) => height - 1 - (highest > 0 ? value / highest : 0) * (height - 4);
    const lines = [];
    const entries = [];
    const last = [];
    [...series].forEach(([name, own]) => {
      const colour = colourOf(name);
      for (const run of runs(own.filter(({ time }) => time >= start))) {
        const at = run.map(({ time, value }) => `${x(time).toFixed(1)},${y(value).toFixed(1)}`);
        // A single point would be no line.
        if (at.length === 1) at.push(at[0]);
        lines.push(shape("polyline", { points: at.join(" "), class: `line line-${colour}` }));
      }
      const now = own.at(-1)?.value;
      const text = now === null || now === undefined ? "none" : format(now);
      last.push(`${name} ${text}`);
      entries.push(
        element("li", {}, element("i", { class: `key-${colour}` }), `${name} ${text}`));
    });
    picture.replaceChildren(...lines);
    picture.setAttribute("aria-label", `${title}: ${last.join(", ") || "nothing yet"}`);
    top.textContent = highest > 0 ? `up to ${format(highest)}` : "";
    legend.replaceChildren(...entries);
  }

  return { element: figure, draw };
}

function colourOf(name) {
  const index = known.findIndex((each) => name.includes(each));
  return index < 0 ? known.length : index;
}

/** The points between gaps. */
function runs(points) {
  const all = [[]];
  for (const point of points) {
    if (point.value === null) all.push([]);
    else all.at(-1).push(point);
  }
  return all.filter((run) => run.length > 0);
}

function shape(name, attributes) {
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 1, notation: "compact" });

/** A count. */
export const count = (value) => numbers.format(value);

/** Per second. */
export const perSecond = (value) => `${numbers.format(value)}/s`;

/** A duration in seconds. */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${numbers.format(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
