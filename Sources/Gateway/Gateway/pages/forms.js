/**
 * Forms whose answer somebody waits for.
 */

import { prepare, send } from "./api.js";
import { element } from "./dom.js";
import { words } from "./locale.js";
import { showProblem } from "./notice.js";

/** What is written in a form, by the fields' names. */
export const valuesOf = (form) =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));

/** The values that are not empty. */
export const given = (values) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));

/** Sends the values that are not those of one's own profile, if there are any; returns them. */
export async function saveProfile(values, row) {
  const changed = Object.entries(values).filter(([name, value]) => value !== (row[name] ?? ""));
  const changes = Object.fromEntries(changed);
  if (changed.length) await send(prepare("PATCH", "/v1/profile", changes));
  return changes;
}

/** What runs `action`, but not while it runs already: a second click is no second action. */
export function oneAtATime(action) {
  let isBusy = false;
  return async (...values) => {
    if (isBusy) return;
    isBusy = true;
    try {
      await action(...values);
    } finally {
      isBusy = false;
    }
  };
}

/**
 * Calls `submit` with the values of a form, one submission at a time. A problem is shown in the
 * form; above the page that is shown if the form's was left.
 *
 * @param {function} submit returns a promise
 */
export function onSubmit(form, submit, signal) {
  const button = form.querySelector("[type=submit]");
  const trouble = element("p", { class: "trouble", role: "alert" });
  button.before(trouble);
  const run = oneAtATime(async (values) => {
    trouble.textContent = "";
    for (const input of form.elements) input.removeAttribute("aria-invalid");
    // A button that is disabled would lose the focus.
    button.setAttribute("aria-disabled", "true");
    try {
      await submit(values);
    } catch (problem) {
      if (signal.aborted) showProblem(problem, () => run(values));
      else show(problem);
    } finally {
      button.removeAttribute("aria-disabled");
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run(valuesOf(form));
  });

  function show(problem) {
    trouble.textContent = problem.words ?? words("problem-internal-error");
    const input = form.elements.namedItem(problem.field);
    input?.setAttribute("aria-invalid", "true");
    input?.focus();
  }
}
