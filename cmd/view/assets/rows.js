// The rows of a column, decoded, a page at a time.
import { ask, count, el, href, notice, size } from "./dom.js";
import { leftOut } from "./checks.js";
import { readable, showRow } from "./detail.js";

export async function rows({ box, store, parameters, current }) {
  const column = store.columns.find((c) => c.name === parameters.column) ?? store.columns[0];
  const page = await ask("rows", {
    column: column.name, prefix: parameters.prefix, after: parameters.after, reverse: parameters.reverse, limit: 50,
  });
  if (!current()) return;
  box.append(el("h1", {}, "Rows"), columnBar(store.columns, column), kindBar(column, parameters), search(column, parameters));
  box.append(leftOut(page));
  box.append(page.rows.length ? table(page.rows) : el("p", { class: "quiet empty" }, "No rows here."));
  if (page.fault) box.append(notice("error", `What follows cannot be read: ${page.fault}`));
  box.append(pager(column, parameters, page));
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

function table(rows) {
  return el("div", { class: "scroll" }, el("table", { class: "rows" },
    el("thead", {}, el("tr", {}, el("th", { class: "type" }, "Type"), el("th", {}, "Key"), el("th", {}, "Value"), el("th", { class: "number" }, "Size"))),
    el("tbody", {}, rows.map((row) => el("tr", {
      tabindex: "0", class: row.fault ? "bad" : "", onclick: () => showRow(row.column, row.at),
      onkeydown: (event) => { if (event.key === "Enter") showRow(row.column, row.at); },
    },
      el("td", { class: "type" }, row.type ?? "?"),
      el("td", {}, row.key !== undefined ? fields(row.key) : el("code", {}, row.key_hex ?? "")),
      el("td", {}, valueOf(row)),
      el("td", { class: "number" }, size(row.size)))))));
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
  return el("span", { class: "fields" }, entries.map(([name, v]) => el("span", {}, el("b", {}, name), " ", el("code", { class: redacted(v) }, brief(v)))));
}

const redacted = (v) => (typeof v === "string" && v.startsWith("redacted:") ? "secret" : "");

function brief(v) {
  if (v === null) return "none";
  if (Array.isArray(v)) return v.length === 1 ? `[${brief(v[0])}]` : `[${count(v.length)}]`;
  if (typeof v === "object") return Object.entries(v).map(([k, x]) => `${k} ${brief(x)}`).join(", ").slice(0, 80);
  const text = (typeof v === "string" && readable(v)) ? `“${readable(v)}”` : String(v);
  return /^[0-9a-f]{64}$/.test(text) ? text.slice(0, 12) + "…" : text.length > 80 ? text.slice(0, 80) + "…" : text === "" ? "(empty)" : text;
}

function pager(column, parameters, page) {
  const to = (after) => href("rows", { column: column.name, prefix: parameters.prefix, reverse: parameters.reverse, after });
  return el("div", { class: "pager" },
    parameters.after && el("a", { href: to("") }, "⇤ first page"),
    parameters.after && el("button", { class: "quiet", onclick: () => history.back() }, "← back"),
    page.next && el("a", { class: "next", href: to(page.next) }, "next page →"));
}
