// The rows of a column, decoded.
import { ask, count, el, href, size } from "./dom.js";
import { readable, showRow } from "./detail.js";
import { endless } from "./endless.js";
import { isId, nameOrDigits } from "./names.js";

export async function rows({ box, store, parameters, current }) {
  const column = store.columns.find((c) => c.name === parameters.column) ?? store.columns[0];
  const { prefix, after, reverse } = parameters;
  box.append(el("h1", {}, "Rows"), columnBar(store.columns, column), kindBar(column, parameters), search(column, parameters));
  if (after) box.append(el("div", { class: "pager" }, el("a", { href: href("rows", { column: column.name, prefix, reverse }) }, "⇤ from the beginning")));
  const table = await endless({
    label: `Rows of ${column.name}`, empty: "No rows here.",
    load: (cursor) => ask("rows", { column: column.name, prefix, after: cursor || after, reverse, limit: cursor ? 1000 : 200 }),
    of: "rows",
    columns: [
      { head: "Type", class: "type", cell: (row) => row.type ?? "?" },
      { head: "Key", class: "key", cell: (row) => (row.key !== undefined ? fields(row.key) : el("code", {}, row.key_hex ?? "")) },
      { head: "Value", class: "value", cell: valueOf },
      { head: "Size", class: "number", cell: (row) => size(row.size) },
    ],
    open: (row) => showRow(row.column, row.at),
    onward: (cursor) => href("rows", { column: column.name, prefix, reverse, after: cursor }),
    bad: (row) => Boolean(row.fault),
  });
  if (current()) box.append(table);
}

const columnBar = (all, column) => el("div", { class: "chips", role: "group", "aria-label": "Column" },
  all.map((c) => el("a", { href: href("rows", { column: c.name }), "aria-current": c === column && "true" }, c.name)));

function kindBar(column, parameters) {
  if (!column.kinds.some((k) => k.prefix)) return "";
  return el("div", { class: "chips small", role: "group", "aria-label": "Kind of row" },
    el("a", { href: href("rows", { column: column.name }), "aria-current": !parameters.prefix && "true" }, "all"),
    column.kinds.map((k) => el("a", {
      href: href("rows", { column: column.name, prefix: k.prefix }), title: k.holds ?? (k.fields ?? []).join(" ‖ "),
      "aria-current": parameters.prefix === k.prefix && "true",
    }, k.name, k.secret && el("em", {}, " secret"))));
}

function search(column, parameters) {
  const prefix = el("input", {
    name: "prefix", value: parameters.prefix ?? "", placeholder: "leading bytes of the key, in hex", spellcheck: "false",
    autocomplete: "off", "aria-label": "Leading bytes of the key, in hex",
  });
  const reverse = el("input", { type: "checkbox", checked: parameters.reverse === "1" });
  const go = () => {
    location.hash = href("rows", {
      column: column.name, prefix: prefix.value.trim().toLowerCase().replace(/^0x/, ""), reverse: reverse.checked ? "1" : "",
    });
  };
  reverse.addEventListener("change", go);
  return el("form", { class: "search", onsubmit: (event) => { event.preventDefault(); go(); } },
    prefix, el("button", {}, "Find"), el("label", {}, reverse, " last first"));
}

function valueOf(row) {
  if (row.fault) return el("span", { class: "fault" }, row.fault);
  if (row.sealed) return el("span", { class: "tag" }, `sealed with ${row.sealed}`);
  if (row.record) return fields({ ...row.record, ...(row.record.document && { document: JSON.stringify(row.record.document) }) });
  if (row.value !== undefined) return fields(row.value);
  return el("code", {}, (readable(row.hex ?? "") || row.hex || "") + (row.cut ? "…" : ""));
}

// fields shows an object on one line.
export function fields(object) {
  if (object === null || typeof object !== "object") return el("code", {}, brief(object));
  const entries = Object.entries(object);
  if (!entries.length) return el("span", { class: "none" }, "no fields");
  return el("span", { class: "fields" }, entries.map(([name, v]) => el("span", {}, el("b", {}, name), " ", el("code", { class: redacted(v), title: isId(v) && v }, brief(v)))));
}

const redacted = (v) => (typeof v === "string" && v.startsWith("redacted:") ? "secret" : "");

function brief(v) {
  if (v === null) return "none";
  if (Array.isArray(v)) return v.length === 1 ? `[${brief(v[0])}]` : `[${count(v.length)}]`;
  if (typeof v === "object") return Object.entries(v).map(([k, x]) => `${k} ${brief(x)}`).join(", ").slice(0, 80);
  const text = (typeof v === "string" && readable(v)) ? `“${readable(v)}”` : String(v);
  return isId(text) ? nameOrDigits(text) : text.length > 80 ? text.slice(0, 80) + "…" : text === "" ? "(empty)" : text;
}
