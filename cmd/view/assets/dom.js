// What the views are made of. Text of the store only ever becomes text nodes.

// el makes an element: el("a", {href: "#/"}, "text", child, …). Listeners are on….
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (value === true) e.setAttribute(key, "");
    else if (value !== false && value != null) e.setAttribute(key, value);
  }
  e.append(...children.flat().filter((c) => c != null && c !== false));
  return e;
}

// ask asks the server for data; path is below api/.
export async function ask(path, parameters = {}, method = "GET") {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== "" && v != null));
  const response = await fetch(`api/${path}?${query}`, { method }).catch(() => {
    throw new Error("stoa view does not answer any more: has it been stopped?");
  });
  const doc = await response.json().catch(() => ({ error: `an answer that is no JSON (${response.status})` }));
  if (!response.ok || doc.error && !doc.state) throw new Error(doc.error);
  return doc;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

// size writes bytes for people.
export function size(bytes) {
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) [bytes, unit] = [bytes / 1024, unit + 1];
  return `${unit && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

// count writes a number for people.
export const count = (n) => Number(n).toLocaleString("en");

// counted writes a number of things.
export const counted = (n, noun) => `${count(n)} ${noun}${Number(n) === 1 ? "" : "s"}`;

// fit cuts a text where it is longer than most characters.
export const fit = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

// time writes a time of the store for people.
export function time(text) {
  const at = new Date(text);
  return el("time", { datetime: text, title: text }, isNaN(at) ? text : at.toISOString().replace("T", " ").replace(/(\.000)?Z$/, ""));
}

// notice is a remark in place of, or beside, what a view shows.
export const notice = (kind, ...text) => el("p", { class: `notice ${kind}`, role: kind === "error" ? "alert" : "status" }, ...text);

// link leads to a view.
export function href(view, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== "" && v != null)).toString();
  return `#/${view}${query ? "?" + query : ""}`;
}
