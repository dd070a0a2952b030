/**
 * The samples that the page has, and what is plotted of them.
 */

const most = 720;
let samples = [];

/** The number of the newest sample; 0 without one. */
export const newest = () => samples.at(-1)?.number ?? 0;

/** Takes what an overview brings. */
export function take({ samples: fresh, isNew }) {
  const known = isNew ? 0 : newest();
  if (isNew) samples = [];
  samples = [...samples, ...fresh.filter(({ number }) => number > known)].slice(-most);
}

/**
 * The values of a member by name, as points of time; null where there is none.
 *
 * @returns {Map<string, {time: number, value: number|null}[]>}
 */
export function values(member) {
  return byName((sample) => sample[member] ?? {});
}

/** One number of each sample. */
export function single(member, name) {
  return byName((sample) => (typeof sample[member] === "number" ? { [name]: sample[member] } : {}));
}

/** By how much a counter grows per second. What falls was reset, and is a gap. */
export function rates(member) {
  let before = null;
  return byName((sample) => {
    const seconds = before ? sample.time - before.time : 0;
    const grown = {};
    for (const [name, count] of Object.entries(sample[member] ?? {})) {
      const earlier = before?.[member]?.[name];
      if (earlier !== undefined && seconds > 0 && count >= earlier) {
        grown[name] = (count - earlier) / seconds;
      }
    }
    before = sample;
    return grown;
  });
}

function byName(valuesOf) {
  const found = samples.map((sample) => ({ time: sample.time, named: valuesOf(sample) }));
  const names = new Set(found.flatMap(({ named }) => Object.keys(named)));
  return new Map([...names].sort().map((name) => [
    name, found.map(({ time, named }) => ({ time, value: named[name] ?? null })),
  ]));
}
