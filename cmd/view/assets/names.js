// What ids are called, wherever they stand.
import { ask, el, href } from "./dom.js";

let names = {};

// learnNames asks for the names of the store that was opened.
export async function learnNames() {
  names = (await ask("names").catch(() => ({ names: {} }))).names;
}

export const nameOf = (id) => names[id]?.name;

export const isId = (text) => typeof text === "string" && /^[0-9a-f]{64}$/.test(text);

// digits is enough of an id to tell it from others.
export const digits = (id, most = 12) => (id.length > most + 2 ? id.slice(0, most) + "…" : id);

// short is a name with the first digits, or enough digits of an id to tell it from others;
// the title has all of them.
export function short(id, name = nameOf(id)) {
  if (!name) return el("code", { title: id, class: "id" }, digits(id));
  return el("span", { title: id, class: "id" }, name, " ", el("code", { class: "quiet" }, digits(id, 8)));
}

// nameOrDigits is short as text.
export const nameOrDigits = (id, most) => nameOf(id) ?? digits(id, most);

// whole is an id in a panel: its name, all of its digits, which lead to what has it, and a
// button that copies them.
export function whole(id, name = nameOf(id)) {
  return el("span", { class: "whole" }, name && [el("b", {}, name), " "],
    el("a", { href: href("search", { q: id }), title: "what has this id" }, el("code", {}, id)), copy(id));
}

// copy is a button that copies a text.
export function copy(text, what = "the id") {
  const say = (mark) => {
    button.textContent = mark;
    setTimeout(() => (button.textContent = ""), 1200);
  };
  const button = el("button", {
    class: "copy quiet", title: "Copy", "aria-label": `Copy ${what}`, onclick: (event) => {
      event.stopPropagation();
      navigator.clipboard.writeText(text).then(() => say("✓"), () => say("✗"));
    },
  });
  return button;
}
