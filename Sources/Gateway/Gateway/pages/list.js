/**
 * A list that is paged by cursor: rows in the document, a bounded number of them.
 *
 * Looking again reads all rows that are shown in one request, and replaces them. Rows that did not
 * change keep their elements, and so the focus in them. Reads of one list follow each other, so an
 * older answer never replaces a newer one.
 */

import { get, lacksOwn } from "./api.js";
import { button, element } from "./dom.js";
import { words } from "./locale.js";
import { showDrafts } from "./optimistic.js";
import { dropPending, pendingElements, showPending } from "./pending.js";
import { after } from "./positions.js";
import { exchange, hold, place, skeleton } from "./rows.js";

// The gateway answers with as many at once.
const most = 200;

/**
 * @param {object} options
 *   address: of the screen; query: its parameters;
 *   keyOf(row): names a row; build(row): its element; present(row): with drafts;
 *   empty: what to say without rows, with an icon; label: for screen readers;
 *   isUpward: the oldest row first, as in a chat;
 *   onRows(rows): called with what is shown; signal: ends reads
 */
export function createList(options) {
  const { address, query = {}, keyOf, build, present = (row) => row, signal } = options;
  const { empty, label, isUpward = false, onRows = () => {}, pageSize = 20 } = options;
  let rows = [];
  /** The cursor before the first row that is shown; null at the beginning of the list. */
  let start = null;
  let next = null;
  let isLoaded = false;
  let work = Promise.resolve();
  let waiting = null;
  let extending = null;
  let isBusy = false;
  /** What repeats the read that failed last. */
  let again = null;
  const shown = new Map();

  const container = element("ul", { class: "rows", "aria-label": label });
  const nothing = element("p", { class: "empty", hidden: true }, empty);
  const more = button(words(isUpward ? "older" : "more"), () => quietly((again ?? loadMore)()), {
    class: "more",
  });
  const newest = button(words("newest"), () => quietly(reset()), { class: "more", hidden: true });
  const trouble = element("p", { class: "trouble", role: "status" });
  const loading = skeleton();
  more.hidden = true;
  const parts = isUpward
    ? [more, trouble, container, nothing, newest]
    : [newest, loading, container, nothing, trouble, more];
  const list = {
    element: element("div", { class: "list" }, ...parts), address, refresh, redraw: draw, show,
    find,
  };
  showPending(address, list, signal);
  showDrafts(list, signal);
  const observer = new IntersectionObserver(extend);
  signal?.addEventListener("abort", () => observer.disconnect(), { once: true });
  watchEnd();
  return list;

  /** Reads what is shown again; returns whether the answer contains one's own actions. */
  function refresh() {
    waiting ??= inTurn(refresh, async () => {
      waiting = null;
      const limit = Math.min(most, Math.max(pageSize, rows.length));
      const page = await get(address, { query: { ...query, cursor: start, limit }, signal });
      if (start === null) dropPending(address, page);
      take(page.items, page.next);
      watchEnd(); // What failed before may have left room.
      return !lacksOwn(page);
    });
    return waiting;
  }

  function loadMore() {
    if (next === null) return work;
    extending ??= inTurn(loadMore, async () => {
      // It may have been read again meanwhile.
      if (next === null) return;
      const target = { ...query, cursor: next, limit: pageSize };
      const page = await get(address, { query: target, signal });
      const known = new Set(rows.map(keyOf));
      const all = [...rows, ...page.items.filter((row) => !known.has(keyOf(row)))];
      if (all.length > most) start = all[all.length - most - 1].cursor;
      take(all.slice(-most), page.next);
    }).finally(() => (extending = null));
    return extending;
  }

  /** Starts again from the first page. */
  function reset() {
    [rows, start] = [[], null];
    return refresh();
  }

  /** The first page as it is now, from the stream. Returns a promise if that must be read. */
  function show(page) {
    const isFirstPage = start === null && rows.length <= page.items.length;
    // The stream does not know what one has just done: a state without it would be a step back.
    if (waiting || isBusy || !isFirstPage || after() !== "") return refresh();
    return take(page.items, page.next);
  }

  /** The element of a row, for which further pages are read; null if a whole list lacks it. */
  async function find(key) {
    await work;
    while (!shown.has(key) && next !== null && rows.length < most) await loadMore();
    return shown.get(key)?.made ?? null;
  }

  function inTurn(repeat, read) {
    work = work.catch(() => {}).then(async () => {
      isBusy = true;
      try {
        return await read();
      } catch (problem) {
        const text = problem.words ?? words("problem-internal-error");
        if (!signal?.aborted) trouble.textContent = text;
        more.hidden = false;
        more.textContent = words("again");
        again = repeat;
        loading.remove();
        throw problem;
      } finally {
        isBusy = false;
      }
    });
    return work;
  }

  function take(items, cursor) {
    rows = items;
    next = cursor;
    isLoaded = true;
    loading.remove();
    trouble.textContent = "";
    again = null;
    more.textContent = words(isUpward ? "older" : "more");
    hold(isUpward ? container.firstElementChild : null, draw);
    onRows(rows);
  }

  function draw() {
    // Those of a page that was left belong to the one that is shown.
    const pending = signal?.aborted ? [] : pendingElements(address, new Set(rows.map(keyOf)));
    const wanted = pending.reverse();
    const isKept = new Set();
    for (const row of rows) {
      const key = keyOf(row);
      isKept.add(key);
      wanted.push(elementOf(key, present(row)));
    }
    for (const key of shown.keys()) if (!isKept.has(key)) shown.delete(key);
    if (isUpward) wanted.reverse();
    place(container, wanted);
    if (isLoaded) more.hidden = next === null && again === null;
    newest.hidden = start === null;
    nothing.hidden = !isLoaded || wanted.length > 0;
  }

  function elementOf(key, row) {
    const text = JSON.stringify(row);
    const before = shown.get(key);
    // A row in which somebody writes stays until they have finished.
    if (before && (before.text === text || before.made.dataset.keep !== undefined)) {
      return before.made;
    }
    const made = build(row);
    shown.set(key, { text, made });
    if (before) exchange(before.made, made);
    return made;
  }

  /** Loads the next page when its button comes into view. */
  function extend(entries) {
    // After a failure the person decides.
    if (!entries.some((entry) => entry.isIntersecting) || trouble.textContent || !isLoaded) return;
    const [height, first] = [container.offsetHeight, start];
    quietly(loadMore()).then(() => {
      // It stays in view where rows are hidden, or where the first ones went for these.
      if (start === first && container.offsetHeight > height) watchEnd();
    });
  }

  function watchEnd() {
    // The observer tells of changes only, and the button may be in view still.
    observer.unobserve(more);
    if (!isUpward && !signal?.aborted) observer.observe(more);
  }
}

/** The list itself says what went wrong. */
const quietly = (promise) => promise.catch(() => {});
