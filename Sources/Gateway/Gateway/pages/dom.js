/**
 * Making elements. Texts become text nodes, never markup, so no text can be anything else.
 */

/**
 * An element. A property that begins with "on" is a listener; null and false leave one out.
 *
 * @param {string} name
 * @param {object} properties attributes and listeners
 * @param {...(Node|string|null)} children null leaves one out
 */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** A text that comes from people: its direction is its own. */
export function theirs(text, name = "span", properties = {}) {
  return element(name, { dir: "auto", ...properties }, text);
}

/** A button that does not submit a form. */
export function button(text, onclick, properties = {}) {
  return element("button", { type: "button", onclick, ...properties }, text);
}

/** A button that shows an icon only. */
export function iconButton(icon, label, onclick, properties = {}) {
  return button(icon, onclick, { class: "icon", "aria-label": label, title: label, ...properties });
}

/** A form's field with its label above it. */
export function field(label, input, hint = null) {
  return element(
    "label", { class: "field" }, element("span", { class: "label" }, label), input,
    hint ? element("span", { class: "hint" }, hint) : null);
}

/** A random id for what is made here. `randomUUID` needs TLS or localhost; this does not. */
export function randomID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
