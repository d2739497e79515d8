// The panel beside a view, with everything of one row.
import { ask, count, el, notice, size, time } from "./dom.js";
import { copy, isId, whole } from "./names.js";

const panel = document.getElementById("detail");
let opener; // what has the focus again when the panel closes

export function closeDetail() {
  if (panel.hidden) return;
  panel.hidden = true;
  panel.replaceChildren();
  document.body.classList.remove("detailed");
  opener?.focus?.({ preventScroll: true });
}

// detailed reports whether the panel is open.
export const detailed = () => !panel.hidden;

// showDetail opens the panel with a title and what it is about.
export function showDetail(title, ...content) {
  opener = document.activeElement;
  panel.replaceChildren(
    el("div", { class: "bar" }, el("h2", {}, title), el("button", { class: "quiet", onclick: closeDetail, "aria-label": "Close" }, "✕")),
    ...content.filter((c) => c != null && c !== false),
  );
  panel.hidden = false;
  panel.scrollTop = 0;
  document.body.classList.add("detailed");
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeDetail();
});

// asked asks for what the panel is to show; where that fails it shows why, and returns nothing.
export async function asked(title, path, parameters) {
  try {
    return await ask(path, parameters);
  } catch (error) {
    showDetail(title, notice("error", error.message));
    return null;
  }
}

// showRow asks for a row and shows it; before goes above it.
export async function showRow(column, key, ...before) {
  showDetail("…", ...before);
  try {
    const row = await ask("row", { column, key });
    showDetail(row.type || "A row", ...before, ...rowContent(row));
  } catch (error) {
    showDetail("A row", ...before, notice("error", error.message));
  }
}

function rowContent(row) {
  const parts = [el("p", { class: "quiet" }, `in ${row.column}, value of ${size(row.size)}`)];
  if (row.fault) parts.push(notice("error", row.fault));
  if (row.key !== undefined) parts.push(el("h3", {}, "Key"), tree(row.key));
  if (row.record) parts.push(el("h3", {}, "Record"), tree(row.record));
  if (row.sealed) parts.push(notice("info", `sealed with key ${row.sealed}`));
  if (row.value !== undefined) parts.push(el("h3", {}, "Value"), tree(row.value));
  if (row.hex !== undefined) parts.push(el("h3", {}, row.cut ? "The beginning of the value" : "Value"), el("pre", {}, row.hex || "(empty)"));
  parts.push(el("details", {}, el("summary", {}, "Key in hex"), copy(row.at, "the key"), el("pre", {}, row.at || "(empty)")));
  return parts;
}

// tree shows JSON, a field a line.
export function tree(value, field = "") {
  if (value === null) return el("span", { class: "none" }, "none");
  if (typeof value !== "object") return scalar(value, field);
  const entries = Object.entries(value);
  if (!entries.length) return el("span", { class: "none" }, Array.isArray(value) ? "empty" : "no fields");
  return el("dl", {}, entries.flatMap(([name, v]) => [el("dt", {}, name), el("dd", {}, tree(v, Array.isArray(value) ? field : name))]));
}

const long = 160; // digits from which on bytes are folded

function scalar(value, field) {
  if (isId(value) && !/^0+$/.test(value)) return whole(value);
  const at = timeOf(value, field);
  if (at) return el("span", { class: "number" }, String(value), "  ", time(at));
  const text = leaf(value);
  if (typeof value === "string" && value.length > long && /^[0-9a-f]+$/.test(value)) {
    return el("details", {}, el("summary", {}, `${count(value.length / 2)} bytes `, copy(value, "the bytes")), text);
  }
  return el("span", { class: typeof value === "string" ? "text" : "number" }, text);
}

// timeOf is the time that a number says, where its field is of one: seconds or milliseconds
// since 1970.
function timeOf(value, field) {
  if (!/(^|_)(at|time|until|since)$/.test(field) || !/^[0-9]{9,13}$/.test(value)) return null;
  return new Date(Number(value) * (String(value).length > 11 ? 1 : 1000)).toISOString();
}

// leaf is a value as text; bytes that are text say what they say.
function leaf(value) {
  if (value === "") return "(empty)";
  const said = typeof value === "string" && readable(value);
  return said ? `${value}  “${said}”` : String(value);
}

// readable returns what bytes in hex say, if that is printable ASCII.
export function readable(hex) {
  if (!/^(2[0-9a-f]|[3-6][0-9a-f]|7[0-9a-e]){3,}$/.test(hex) || hex.length === 64) return "";
  return hex.match(/../g).map((b) => String.fromCharCode(parseInt(b, 16))).join("");
}
