/**
 * Whether somebody is writing: what builds the page anew must wait for them.
 */

const fields = "input, textarea, select";
const milliseconds = 500;

/** The fields that somebody has changed. */
const changed = new WeakSet();
document.addEventListener("input", ({ target }) => changed.add(target));

/** Returns once nobody is in a field, and nothing is in one that they have changed. */
export async function whenNobodyWrites() {
  while (isWriting()) await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function isWriting() {
  return document.activeElement.matches(fields)
    || [...document.querySelectorAll(fields)].some((each) => changed.has(each) && each.value);
}
