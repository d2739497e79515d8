// The search across everything, and what it has found.
import { ask, counted, el, href, notice } from "./dom.js";
import { leftOut } from "./checks.js";
import { copy, isId, nameOrDigits } from "./names.js";
import { roving } from "./roving.js";

export async function search({ box, parameters, current }) {
  const q = parameters.q ?? "";
  document.querySelector("#search input").value = q;
  box.append(el("h1", {}, "Search"));
  if (!q.trim()) {
    box.append(el("p", { class: "quiet" }, "For the first digits of an id (4 or more), a part of a name, or how a key begins."));
    return;
  }
  const doc = await ask("search", { q });
  if (!current()) return;
  if (doc.hits.length === 1 && !doc.more && isId(doc.hits[0].id)) {
    location.replace(leads(doc.hits[0]));
    return;
  }
  box.append(leftOut(doc), el("p", { class: "quiet" }, `${counted(doc.hits.length, "thing")} for “${q}”${doc.more ? "; there may be more: say more of it" : ""}`));
  if (!doc.hits.length) box.append(notice("info", "Nothing here is called so, or has an id or a key that begins so. Content of values is not searched."));
  box.append(roving(el("ul", { class: "hits" }, doc.hits.map((h) => el("li", {},
    el("a", { href: leads(h) }, el("span", { class: "tag" }, h.of), el("span", { class: "what" }, h.name && [el("b", {}, h.name), " "], el("code", {}, h.id || "(empty)")),
      el("span", { class: "quiet" }, within(h))), isId(h.id) && copy(h.id)))), "a"));
}

// within says where a thing is.
function within(h) {
  const called = (id) => nameOrDigits(id, 8);
  if (h.of === "delta") return `in ${called(h.context)}`;
  if (h.of === "op") return `in ${called(h.namespace)}`;
  if (h.of === "member") return `of ${called(h.group)}`;
  if (h.of === "record") return `${h.collection} of ${h.tenant}`;
  if (h.of === "key") return h.bucket ? `in ${h.bucket} of ${h.tenant}` : `of ${h.tenant}`;
  return h.of === "bucket" ? `of ${h.tenant}` : "";
}

// leads is where a thing is shown.
function leads(h) {
  switch (h.of) {
    case "group": return href("groups", { id: h.id });
    case "namespace": return href("governance", { namespace: h.id });
    case "member": return href("groups", { id: h.group });
    case "context": return href("deltas", { context: h.id });
    case "delta": return href("deltas", { context: h.context, id: h.id });
    case "op": return href("governance", { namespace: h.namespace, id: h.id });
    case "blob": return href("blobs", { id: h.id });
    case "application": return href("rows", { column: "Application", prefix: h.id });
    case "record": return href("records", { tenant: h.tenant, collection: h.collection, id: h.id });
    case "bucket": return href("buckets", { tenant: h.tenant, bucket: h.id });
    case "key": return h.bucket ? href("buckets", { tenant: h.tenant, bucket: h.bucket, prefix: h.id }) : href("keyvalues", { tenant: h.tenant, prefix: h.id });
    default: return href("keyvalues", { tenant: h.tenant });
  }
}
