// The records of collections: a tenant's.
import { ask, count, el, href, time } from "./dom.js";
import { leftOut } from "./checks.js";
import { asked, showDetail, tree } from "./detail.js";
import { endless } from "./endless.js";
import { copy } from "./names.js";
import { fields } from "./rows.js";

export async function records({ box, parameters, current }) {
  const all = await ask("tenants");
  if (!current()) return;
  box.append(el("h1", {}, "Records"), leftOut(all));
  if (!all.tenants.length) {
    box.append(el("p", { class: "quiet empty" }, "There are no tenants here."));
    return;
  }
  const tenant = parameters.tenant ?? all.tenants[0];
  const collection = all.collections.find((c) => c.name === parameters.collection) ?? all.collections[0];
  const here = { tenant, collection: collection.name, reverse: parameters.reverse };
  box.append(tenantPicker(all, tenant, (chosen) => href("records", { ...here, tenant: chosen })), collectionBar(all.collections, collection, tenant),
    el("p", { class: "quiet" }, collection.about, " ", orderOf(here)));
  const table = await endless({
    label: `Records of ${collection.name}`, empty: "No records here.",
    load: (cursor) => ask("records", { ...here, cursor, limit: 200 }),
    of: "records",
    columns: [
      { head: "Id", class: "type", cell: (r) => r.id },
      { head: "Document", class: "value", cell: (r) => fields(r.document) },
      { head: "Revision", class: "number", cell: (r) => count(r.revision) },
    ],
    open: (r) => show(here, r.id),
  });
  if (!current()) return;
  box.append(table);
  if (parameters.id) await show(here, parameters.id);
}

// tenantPicker lets the reader choose a tenant; to says where a choice leads.
export const tenantPicker = (all, tenant, to) => el("div", { class: "picker" },
  el("select", { "aria-label": "Tenant", onchange: (event) => { location.hash = to(event.target.value); } },
    !all.tenants.includes(tenant) && el("option", { value: tenant, selected: true }, tenant),
    all.tenants.map((t) => el("option", { value: t, selected: t === tenant }, t || "(no name)"))),
  all.more && el("span", { class: "quiet" }, `the first ${count(all.tenants.length)}`));

// collectionBar has the collections; versions of others only while one of them is shown.
const collectionBar = (all, shown, tenant) => el("div", { class: "chips", role: "group", "aria-label": "Collection" },
  all.filter((c) => !c.name.includes(".") || c.name.split(".")[0] === shown.name.split(".")[0])
    .map((c) => el("a", { href: href("records", { tenant, collection: c.name }), title: c.about, "aria-current": c === shown && "true" }, c.name)));

const orderOf = (here) => here.reverse === "1"
  ? el("a", { href: href("records", { ...here, reverse: "" }) }, "oldest first")
  : el("a", { href: href("records", { ...here, reverse: "1" }) }, "newest first");

// show shows a record with what it was before.
export async function show(here, id) {
  const r = await asked("A record", "record", { tenant: here.tenant, collection: here.collection, id });
  if (!r) return;
  const older = (r.history ?? []).filter((h) => h.revision !== r.revision).reverse();
  showDetail(r.id,
    el("dl", { class: "about" },
      el("dt", {}, "id"), el("dd", {}, r.id, copy(r.id)),
      el("dt", {}, "collection"), el("dd", {}, here.collection),
      el("dt", {}, "revision"), el("dd", {}, count(r.revision)),
      el("dt", {}, "written"), el("dd", {}, time(r.written_at)),
      r.expires_at && [el("dt", {}, "expires"), el("dd", {}, time(r.expires_at))]),
    el("h3", {}, "Document"), tree(r.document), leftOut(r),
    older.length > 0 && el("h3", {}, "Before"),
    ...older.map((h) => el("details", {}, el("summary", {}, `revision ${count(h.revision)}, `, time(h.written_at)),
      h.document ? tree(h.document) : el("span", { class: "none" }, "removed"))));
}
