/**
 * An alarm's sentence: its segments as elements, with names, numbers and quoted words highlighted.
 */

import { element } from "./dom.js";

const styles = ["bold", "accent", "italic", "underline", "color"];

/** The sentence, in its own language and direction. */
export function sentence(alarm) {
  const style = styles.includes(alarm.highlight_style) ? alarm.highlight_style : "bold";
  const parts = alarm.segments.map((segment) => {
    // What follows the sentence is somebody's own words.
    if (segment.kind === "head") return element("bdi", { class: "head" }, segment.text);
    if (segment.kind === "actor" || segment.kind === "count") {
      return element("bdi", { class: `highlight-${style} segment-${segment.kind}` }, segment.text);
    }
    return segment.text;
  });
  const direction = alarm.text_direction === "rtl" ? "rtl" : "ltr";
  return element("span", { class: "sentence", lang: alarm.locale, dir: direction }, ...parts);
}
