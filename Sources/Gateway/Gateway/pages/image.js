/**
 * Pictures whose addresses people gave: over TLS only, without saying where they are looked at, and
 * a placeholder where there is none.
 */

import { element, theirs } from "./dom.js";
import { icon } from "./icons.js";
import { cleaned } from "./names.js";

const hues = 8;

/** A person's picture, or a sign of their name. */
export function avatar(name, address, id) {
  const sign = element(
    "span", { class: `avatar hue-${hue(id)}`, "aria-hidden": "true" },
    signOf(cleaned(name) || id));
  const source = secure(address);
  if (source) sign.append(picture(source, "", (image) => image.remove()));
  return sign;
}

/** A post's picture; null if it has none. */
export function postPicture(address, description) {
  const source = secure(address);
  if (!source) return null;
  const frame = element("div", { class: "picture" });
  const name = decodeName(source);
  frame.append(picture(source, description, (image) => {
    const missing = element("span", { class: "missing" }, icon("picture"));
    missing.append(theirs(name));
    image.replaceWith(missing);
  }));
  return frame;
}

function picture(source, description, onMissing) {
  const image = element("img", {
    src: source, alt: description, dir: "auto", loading: "lazy", decoding: "async",
    referrerpolicy: "no-referrer",
  });
  image.addEventListener("error", () => onMissing(image), { once: true });
  return image;
}

function secure(address) {
  if (!address || !URL.canParse(address)) return null;
  const url = new URL(address);
  return url.protocol === "https:" ? url.href : null;
}

/** The file's name at the end of an address. */
function decodeName(source) {
  const last = new URL(source).pathname.split("/").pop();
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** An emoji of the name, else its first letter. */
function signOf(name) {
  const letters = [...new Intl.Segmenter().segment(name)].map(({ segment }) => segment);
  const emoji = letters.find((letter) => /\p{Emoji_Presentation}|\ufe0f/u.test(letter));
  return emoji ?? letters[0]?.toUpperCase() ?? "?";
}

function hue(id) {
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + letter.codePointAt(0)) % 9973;
  return sum % hues;
}
