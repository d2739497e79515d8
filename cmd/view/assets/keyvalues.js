// The key-values of a tenant.
import { ask, count, el, href, size, time } from "./dom.js";
import { leftOut } from "./checks.js";
import { showDetail, tree } from "./detail.js";
import { endless } from "./endless.js";
import { copy } from "./names.js";
import { tenantPicker } from "./records.js";

export async function keyvalues({ box, parameters, current }) {
  const all = await ask("tenants");
  if (!current()) return;
  box.append(el("h1", {}, "Key-values"), leftOut(all));
  if (!all.tenants.length) {
    box.append(el("p", { class: "quiet empty" }, "There are no tenants here."));
    return;
  }
  const tenant = parameters.tenant ?? all.tenants[0];
  const { prefix } = parameters;
  const load = (cursor) => ask("keyvalues", { tenant, prefix, cursor, limit: 200 });
  const first = await load("");
  if (!current()) return;
  const fact = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, ...value));
  const bound = (n, most, show) => show(n) + (most ? ` of ${show(most)}` : "");
  box.append(tenantPicker(all, tenant, (chosen) => href("keyvalues", { tenant: chosen })),
    el("dl", { class: "facts" }, fact("keys", bound(first.keys, first.max_keys, count)), fact("keys and values", bound(first.bytes, first.max_bytes, size)), fact("revision", count(first.revision))),
    prefixForm(prefix, (chosen) => href("keyvalues", { tenant, prefix: chosen })));
  const table = await endless({
    label: "Key-values", empty: prefix ? "No key begins with this." : "This tenant has no key-values.",
    load, first, of: "items",
    columns: [
      { head: "Key", class: "key", cell: (i) => i.key },
      { head: "Value", class: "value", cell: (i) => brief(i) },
      { head: "Expires", class: "when", cell: (i) => i.expires_at ? time(i.expires_at) : el("span", { class: "none" }, "never") },
      { head: "Revision", class: "number", cell: (i) => count(i.revision) },
    ],
    open: showItem,
  });
  if (current()) box.append(table);
}

// prefixForm asks for what keys begin with.
export const prefixForm = (prefix, to) => el("form", {
  class: "search", onsubmit: (event) => {
    event.preventDefault();
    location.hash = to(new FormData(event.target).get("prefix"));
  },
}, el("input", { name: "prefix", value: prefix ?? "", placeholder: "keys that begin with …", "aria-label": "Keys that begin with", spellcheck: "false", autocomplete: "off" }), el("button", {}, "Show"));

// brief is a value on a line.
export function brief(v) {
  const text = v.value !== undefined ? JSON.stringify(v.value) : v.text ?? v.hex ?? "";
  return el("code", {}, text.length > 160 || v.cut ? text.slice(0, 160) + "…" : text || "(empty)");
}

// content is a value, or the beginning of a long one, with a button that copies it.
export function content(v) {
  const text = v.value !== undefined ? JSON.stringify(v.value, null, 2) : v.text ?? v.hex ?? "";
  return el("div", {}, el("h3", {}, v.cut ? "The beginning of the value " : "Value ", copy(text, "the value")),
    v.value !== undefined ? tree(v.value) : el("pre", {}, text || "(empty)"));
}

function showItem(i) {
  showDetail(i.key, el("dl", { class: "about" },
    el("dt", {}, "key"), el("dd", {}, i.key, copy(i.key, "the key")),
    el("dt", {}, "revision"), el("dd", {}, count(i.revision)),
    el("dt", {}, "written"), el("dd", {}, time(i.written_at)),
    i.expires_at && [el("dt", {}, "expires"), el("dd", {}, time(i.expires_at))],
    el("dt", {}, "size"), el("dd", {}, size(i.size))), content(i));
}
