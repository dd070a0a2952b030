/**
 * Where one's own recent actions are stored, for `Magpie-After`: what is read then contains them.
 *
 * One position for each partition, the latest; eight at most, as the gateway takes. They outlive a
 * reload. Actions are applied within seconds, so older positions say nothing.
 */

const storageName = "magpie.positions";
const most = 8;
const milliseconds = 120_000;

let entries = stored();

/** Remembers an action's `Magpie-Position`, such as "likes/3@17". */
export function remember(position) {
  if (!position) return;
  const partition = partitionOf(position);
  const before = entries.find((entry) => entry.partition === partition);
  // An old one may be of a topic that was made anew since.
  if (before && isRecent(before) && offset(before.position) > offset(position)) return;
  entries = entries.filter((entry) => entry !== before);
  entries.push({ partition, position, time: Date.now() });
  entries = entries.slice(-most);
  store();
}

/**
 * The header's value; empty if there is none.
 *
 * @param {string} [topic] of this topic only
 */
export function after(topic) {
  return entries
    .filter((entry) => isRecent(entry) && (!topic || entry.partition.startsWith(`${topic}/`)))
    .map((entry) => entry.position)
    .join(",");
}

/** Whether what is applied up to these positions, as `after` returns them, includes another one. */
export const includes = (positions, position) =>
  positions.split(",").some((each) =>
    partitionOf(each) === partitionOf(position) && offset(each) >= offset(position));

/** Forgets what was not applied for long: a database that was made anew never has it. */
export function forgetOld() {
  const oldest = Date.now() - milliseconds / 2;
  entries = entries.filter((entry) => entry.time > oldest);
  store();
}

const isRecent = (entry) => entry.time > Date.now() - milliseconds;
const partitionOf = (position) => position.slice(0, position.lastIndexOf("@"));
const offset = (position) => Number(position.slice(position.lastIndexOf("@") + 1));

function store() {
  sessionStorage.setItem(storageName, JSON.stringify(entries));
}

function stored() {
  try {
    const value = JSON.parse(sessionStorage.getItem(storageName) ?? "[]");
    return Array.isArray(value) ? value.slice(-most) : [];
  } catch {
    return [];
  }
}
