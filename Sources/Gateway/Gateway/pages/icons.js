/**
 * The pictures on buttons, drawn as lines of 24 by 24. Labels are beside them, so they are hidden
 * from screen readers.
 */

const paths = {
  at: "M12 8a4 4 0 1 0 .01 0M16 8v5a2.5 2.5 0 0 0 5 0v-1a9 9 0 1 0-4 7.5",
  back: "M15 5l-7 7 7 7",
  bell: "M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4",
  block: "M12 3a9 9 0 1 0 .01 0M6 6l12 12",
  calendar: "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4",
  check: "M5 13l4 4L19 7",
  clock: "M12 3a9 9 0 1 0 .01 0M12 7v5l3 3",
  comment: "M4 5h16v11H11l-5 4v-4H4z",
  envelope: "M3 6h18v12H3zM3 7l9 6 9-6",
  gift: "M4 10h16v10H4zM3 7h18v3H3zM12 7v13M12 7c-4 0-5-4-2-4 2 0 2 4 2 4s0-4 2-4c3 0 2 4-2 4",
  gear:
    "M12 9a3 3 0 1 0 .01 0M10.3 3h3.4l.5 2.4 1.7.9 2.3-.8 1.7 2.9-1.8 1.6v2l1.8 1.6-1.7 2.9-2.3-.8"
    + "-1.7.9-.5 2.4h-3.4l-.5-2.4-1.7-.9-2.3.8-1.7-2.9 1.8-1.6v-2L4.1 8.4l1.7-2.9 2.3.8 1.7-.9z",
  heart: "M12 20C5 15 3 12 3 8.5a4.5 4.5 0 0 1 9-1 4.5 4.5 0 0 1 9 1C21 12 19 15 12 20z",
  home: "M4 11l8-7 8 7v9h-5v-6H9v6H4z",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  pencil: "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4",
  people:
    "M9 5a3.5 3.5 0 1 0 .01 0M3 20c0-5 3-7 6-7s6 2 6 7M16 5a3 3 0 0 1 0 6M17 13c3 0 4 3 4 7",
  person: "M12 4a4 4 0 1 0 .01 0M4 21c0-6 4-8 8-8s8 2 8 8",
  picture: "M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 4M15.5 9h.01",
  plus: "M12 5v14M5 12h14",
  search: "M10.5 4a6.5 6.5 0 1 0 .01 0M15.5 15.5L21 21",
  send: "M4 12l16-8-5 16-3-6zM12 14l8-10",
  star: "M12 4l2.4 5 5.6.7-4.1 3.8 1.1 5.5-5-2.7-5 2.7 1.1-5.5L4 9.7 9.6 9z",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
};

// Names of the registry of alarm kinds; of "calendar-plus" the first word counts.
const others = { alarm: "clock", cake: "gift", fan: "people", group: "people", history: "clock" };

/** The icon of this name; a bell if there is none. */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  const [first] = name.split("-");
  path.setAttribute("d", paths[name] ?? paths[others[first] ?? first] ?? paths.bell);
  svg.append(path);
  return svg;
}
