// The buckets of a tenant: what they have, what keys were before, and the contracts by which
// services have them, with what the next one changes.
import { ask, count, counted, el, href, notice, size, time } from "./dom.js";
import { short } from "./names.js";
import { leftOut } from "./checks.js";
import { asked, showDetail, tree } from "./detail.js";
import { endless } from "./endless.js";
import { brief, content, prefixForm } from "./keyvalues.js";
import { tenantPicker } from "./records.js";

export async function buckets({ box, parameters, current }) {
  const all = await ask("tenants");
  if (!current()) return;
  if (!all.tenants.length) {
    box.append(el("h1", {}, "Buckets"), leftOut(all), el("p", { class: "quiet empty" }, "There are no tenants here."));
    return;
  }
  const tenant = parameters.tenant ?? all.tenants[0];
  if (parameters.bucket) await one(box, { ...parameters, tenant }, current);
  else if (parameters.service) await contract(box, tenant, parameters.service, current);
  else await list(box, all, tenant, current);
}

async function list(box, all, tenant, current) {
  const doc = await ask("buckets", { tenant });
  if (!current()) return;
  box.append(el("h1", {}, "Buckets"), tenantPicker(all, tenant, (chosen) => href("buckets", { tenant: chosen })), leftOut(doc));
  box.append(doc.buckets.length ? table(["Bucket", "Whose", "Keeps", "Keys", "Bytes"], doc.buckets.map((b) => [
    el("td", { class: "type" }, el("a", { href: href("buckets", { tenant, bucket: b.bucket }) }, b.bucket)),
    el("td", {}, whose(tenant, b)),
    el("td", {}, keeps(b.history, b.ttl_ms), b.schema && el("div", { class: "quiet" }, "values hold to a schema")),
    el("td", { class: "number" }, count(b.keys)),
    el("td", { class: "number" }, size(b.bytes))])) : el("p", { class: "quiet empty" }, "No buckets here."));
  if (!doc.services.length) return;
  box.append(el("h2", {}, "Services"), table(["Service", "Contract"], doc.services.map((a) => [
    el("td", { class: "type" }, el("a", { href: href("buckets", { tenant, service: a.service }) }, a.service)),
    el("td", {}, state(a))])));
}

// table has rows of cells.
const table = (heads, rows) => el("div", { class: "scroll" }, el("table", { class: "rows" },
  el("thead", {}, el("tr", {}, heads.map((t) => el("th", { class: ["Keys", "Bytes"].includes(t) && "number" }, t)))),
  el("tbody", {}, rows.map((cells) => el("tr", {}, cells)))));

const whose = (tenant, b) => !b.service ? "an operator's" : [
  el("a", { href: href("buckets", { tenant, service: b.service }) }, b.service), `, as ${b.alias}`, b.adopted && " (adopted)"];

const keeps = (history, ttl) => `${counted(history, "revision")}${ttl ? `, for ${lasting(ttl)}` : ""}`;

// lasting writes milliseconds for people.
function lasting(ms) {
  for (const [unit, of] of [["day", 86400000], ["hour", 3600000], ["minute", 60000], ["second", 1000]]) {
    if (ms % of === 0) return counted(ms / of, unit);
  }
  return `${count(ms)} ms`;
}

// state says where a service and its contracts are.
function state(a) {
  const waits = a.proposed && el("span", { class: "tag medium" }, "a contract waits");
  if (!a.version) return ["none was accepted ", waits];
  const made = a.bound ? "its buckets are there" : a.materialized ? `the buckets are those of version ${a.materialized}` : "no buckets are there yet";
  return [`version ${a.version}, ${made} `, waits];
}

// one is a bucket with its keys.
async function one(box, here, current) {
  const { tenant, bucket, prefix } = here;
  const load = (cursor) => ask("entries", { tenant, bucket, prefix, cursor, limit: 200 });
  const doc = await load("");
  if (!current()) return;
  const b = doc.bucket;
  const fact = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, ...value));
  box.append(el("h1", {}, b.bucket), el("dl", { class: "facts" },
    fact("whose", ...[whose(tenant, b)].flat()), fact("keeps", keeps(b.history, b.ttl_ms)), fact("longest value", size(b.max_value_bytes)),
    fact("keys", count(b.keys)), fact("revisions", count(b.revisions_kept)), fact("revision", count(b.revision)), fact("made", time(b.created_at))));
  if (b.schema) box.append(el("details", {}, el("summary", {}, "What values hold to"), tree(b.schema)));
  box.append(el("div", { class: "pager" }, el("a", { href: href("buckets", { tenant }) }, "⇤ all buckets")),
    prefixForm(prefix, (chosen) => href("buckets", { tenant, bucket, prefix: chosen })));
  const table = await endless({
    label: `Keys of ${b.bucket}`, empty: prefix ? "No key begins with this." : "No keys here.",
    load, first: doc, of: "entries",
    columns: [
      { head: "Key", class: "key", cell: (e) => e.key },
      { head: "Value", class: "value", cell: (e) => (e.op === "put" ? brief(e) : el("span", { class: "none" }, done[e.op])) },
      { head: "Expires", class: "when", cell: (e) => (e.expires_at ? time(e.expires_at) : el("span", { class: "none" }, "never")) },
      { head: "Revision", class: "number", cell: (e) => count(e.revision) },
    ],
    open: (e) => showKey(tenant, bucket, e.key),
  });
  if (current()) box.append(table);
}

const done = { delete: "deleted", purge: "purged, with what was before", expire: "expired" };

// showKey shows what a key has and had, the newest first.
async function showKey(tenant, bucket, key) {
  const doc = await asked(key, "entry", { tenant, bucket, key });
  if (!doc) return;
  const [newest, ...older] = doc.history.reverse();
  showDetail(key, leftOut(doc), newest ? whole(newest) : el("p", { class: "quiet" }, "Nothing is kept of this key."),
    older.length > 0 && el("h3", {}, "Before"),
    ...older.map((e) => el("details", {}, el("summary", {}, `revision ${count(e.revision)}, `, time(e.created_at)), had(e))));
}

const whole = (e) => el("div", {}, el("dl", { class: "about" },
  el("dt", {}, "revision"), el("dd", {}, count(e.revision)),
  el("dt", {}, "written"), el("dd", {}, time(e.created_at)),
  e.expires_at && [el("dt", {}, "expires"), el("dd", {}, time(e.expires_at))],
  e.op === "put" && [el("dt", {}, "size"), el("dd", {}, size(e.size))]), had(e));

// had is what a revision has put, or done instead.
const had = (e) => (e.op === "put" ? content(e) : el("p", { class: "none" }, done[e.op]));

// contract is what was agreed with a service, and what the contract that waits changes, as a diff.
async function contract(box, tenant, service, current) {
  const doc = await ask("contract", { tenant, service });
  if (!current()) return;
  const { authority: a, plan } = doc;
  box.append(el("h1", {}, service), el("p", { class: "quiet" }, state(a)), leftOut(doc));
  if (a.bindings.length) box.append(el("h2", {}, "Its buckets"), table(["Alias", "Bucket", "Keeps"], a.bindings.map((b) => [
    el("td", { class: "type" }, b.alias), el("td", {}, el("a", { href: href("buckets", { tenant, bucket: b.bucket }) }, b.bucket)), el("td", {}, keeps(b.history, b.ttlMs))])));
  if (plan) {
    box.append(el("h2", {}, "What the contract that waits changes ", kind(plan.class)),
      el("p", { class: "quiet" }, short(plan.digest), ", since ", time(a.proposed.since), plan.class === "migration" && ": something that is stored may be lost or refused"),
      plan.changes.length ? el("div", { class: "diff" }, plan.changes.map(change)) : el("p", { class: "quiet" }, "It changes nothing."),
      ...(plan.refused ?? []).map(refused));
  }
  const texts = [["desired", a.desired], ["that waits", a.proposed]].filter(([, c]) => c);
  box.append(...texts.map(([what, c]) => el("details", {}, el("summary", {}, `The contract ${what}, since `, time(c.since)), el("pre", {}, JSON.stringify(c.contract, null, 2)))));
  box.append(el("div", { class: "pager" }, el("a", { href: href("buckets", { tenant }) }, "⇤ all buckets")));
}

const kind = (name) => el("span", { class: `tag ${name === "migration" ? "high" : "success"}` }, name);

// change is a change of a plan: what was, what it becomes, and why that is what it is.
const change = (c) => el("section", {},
  el("h3", {}, `${c.alias}: ${c.what} `, kind(c.class)),
  c.from !== undefined && el("pre", { class: "was" }, "− ", shown(c.from)),
  c.to !== undefined && el("pre", { class: "becomes" }, "+ ", shown(c.to)),
  el("p", { class: "quiet" }, c.reason, c.path && ` (at ${c.path} of the schema)`),
  c.unchecked && el("p", { class: "quiet" }, `values may have already, undeclared: ${c.unchecked.join(", ")}`));

// shown is a value of a field, or all of an alias, without the bounds that it does not have.
const shown = (value) => value === null ? "no bound" : JSON.stringify(value, (_, v) => v ?? undefined, 2);

const refused = (r) => r.refused === 0
  ? notice("good", `All ${counted(r.values, "value")} of ${r.bucket} hold to the new schema.`)
  : notice("warning", `${count(r.refused)} of ${counted(r.values, "value")} of ${r.bucket} would be refused; the first is ${r.key}: ${r.reason}`);
