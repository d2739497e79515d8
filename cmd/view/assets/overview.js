// What the store holds: columns and sizes, contexts, facts.
import { ask, count, counted, el, href, notice, size, time } from "./dom.js";
import { doing, whenLive } from "./live.js";
import { copy, short } from "./names.js";
import { about, badge, leftOut, summary, whenChecked } from "./checks.js";

export async function overview({ box, current }) {
  const now = await ask("store"); // a daemon goes on
  if (!current()) return;
  const [checks, body, met, rates] = [el("div"), el("div"), el("div"), el("div")];
  whenLive(current, () => rates.replaceChildren(doing()));
  let counts = null;
  const update = () => {
    checks.replaceChildren(summary(now.unchecked));
    if (counts) body.replaceChildren(...report(counts));
  };
  whenChecked(current, update);
  update();
  box.append(el("h1", {}, "Overview"), facts(now), rates, checks, met, body);
  rates.replaceChildren(doing());
  const list = await ask("peers");
  if (!current()) return;
  met.replaceChildren(...peers(list));
  for (;;) {
    const job = await ask("survey");
    if (!current()) return;
    if (job.state === "failed") throw new Error(job.error);
    if (job.state === "done") {
      counts = job.overview;
      update();
      return;
    }
    body.replaceChildren(progress("Counting every row", job));
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

// progress shows how far work is that reads the whole store.
export function progress(what, job) {
  const share = job.total > 0 ? Math.min(job.rows / job.total, 0.99) : null;
  return el("div", { class: "progress" },
    el("p", {}, `${what}: ${count(job.rows)}${job.total ? " of about " + count(job.total) : ""}`),
    el("progress", share === null ? {} : { value: share, max: 1 }));
}

function facts({ store: f, shown }) {
  const items = [["Schema", f.schema_version], ["Changes", count(f.sequence)]];
  if (f.node_id) items.push(["Node", [short(f.node_id), copy(f.node_id)]]);
  if (f.how !== "daemon") items.push(["Last close", f.clean ? "clean" : "unclean, or in use"]);
  items.push(["Secrets", f.sealed ? (f.opened ? "sealed, key at hand" : "sealed") : f.how === "daemon" ? "as the daemon shows them" : "plain at rest"]);
  const list = el("dl", { class: "facts" }, items.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  const since = Number(f.sequence) - Number(shown);
  const remarks = [
    ...(since > 0 ? [notice("info", `${counted(since, "change")} since the state that is shown here: Reload shows that of now.`)] : []),
    ...(Number(f.lost) ? [notice("error", `${counted(f.lost, "change")} that had been on disk are gone`)] : []),
    ...(f.problems ?? []).map((p) => notice("error", p)),
    ...(f.unknown ?? []).map((u) => notice("warning", u)),
    ...(f.notes ?? []).map((n) => notice("info", n)),
  ];
  return el("section", {}, list, ...remarks);
}

// peers says with whom this node has exchanged.
function peers(list) {
  if (!list.peers.length) return [leftOut(list)];
  return [el("h2", {}, "Peers ", el("small", {}, list.more ? `the first ${count(list.peers.length)}` : "with whom it last had the same")), leftOut(list),
    el("div", { class: "scroll" }, el("table", { class: "rows" },
      el("thead", {}, el("tr", {}, ["Namespace", "With", "Last sync"].map((h) => el("th", {}, h)))),
      el("tbody", {}, list.peers.map((p) => el("tr", {},
        el("td", {}, el("a", { href: href("governance", { namespace: p.namespace }) }, short(p.namespace, p.alias || undefined))),
        el("td", {}, (p.identity ? short(p.identity, p.name || undefined) : el("span", { class: "quiet" }, "one that had it all already"))),
        el("td", {}, time(p.at)))))))];
}

function report(o) {
  const total = o.columns.reduce((t, c) => ({ rows: t.rows + c.rows, bytes: t.bytes + c.bytes }), { rows: 0, bytes: 0 });
  const parts = [
    ...uncounted(o.findings ?? []),
    el("h2", {}, "Columns ", el("small", {}, `${counted(total.rows, "row")}, ${size(total.bytes)} of keys and values`)),
    columns(o.columns),
  ];
  const unaccounted = o.columns.filter((c) => c.unaccounted);
  for (const c of unaccounted) {
    parts.push(notice("warning", `${c.column}: ${counted(c.unaccounted.rows, "row")} that the schema does not know`),
      el("ul", { class: "examples" }, c.unaccounted.examples.map((e) => el("li", {}, el("code", {}, e.key), " ", e.reason))));
  }
  parts.push(el("h2", {}, "Contexts ", el("small", {}, contextsNote(o))), contexts(o.contexts ?? []));
  return parts;
}

// uncounted says of which columns not all could be counted, and why.
function uncounted(findings) {
  const by = d3.group(findings, (f) => f.reason);
  return [...by].map(([reason, of]) => notice("warning", `Not all of ${of.map((f) => f.column || "the store").join(", ")} is counted: ${reason}`));
}

function contextsNote(o) {
  const shown = (o.contexts ?? []).length;
  return counted(o.context_count, "context") + (shown && shown < o.context_count ? `, the largest ${shown}` : "");
}

const headings = (first) => el("thead", {}, el("tr", {}, el("th", {}, first), el("td", { class: "bar" }),
  ["Rows", "Bytes", "Smallest", "Largest"].map((h) => el("th", { class: "number" }, h))));

function cells(t) {
  return [count(t.rows), t.rows ? size(t.bytes) : "", t.rows ? size(t.smallest) : "", t.rows ? size(t.largest) : ""]
    .map((text) => el("td", { class: "number" }, text));
}

// measured is a table of what there is, with a bar of the share of bytes.
function measured(first, rows) {
  const widest = d3.max(rows, (r) => r.tally.bytes) || 1;
  const scale = d3.scaleSqrt([0, widest], [0, 100]);
  const body = el("tbody", {}, rows.map((r) => {
    const bar = el("i");
    bar.style.width = `${r.tally.bytes ? Math.max(scale(r.tally.bytes), 1) : 0}%`;
    return el("tr", { class: r.part ? "part" : r.tally.rows ? "" : "vacant" }, el("td", {}, r.name),
      el("td", { class: "bar", title: "bytes, as the root of their number" }, bar), cells(r.tally));
  }));
  return el("div", { class: "scroll" }, el("table", { class: "measured" }, headings(first), body));
}

// marked is a name with how many findings there are of what it is of.
const marked = (name, findings) => (findings ? el("span", {}, name, " ", badge(findings, "finding")) : name);

function columns(list) {
  return measured("Column", list.flatMap((c) => [
    { name: marked(el("a", { href: href("rows", { column: c.column }) }, c.column), about(c.column, "")), tally: c },
    ...(c.parts ?? []).map((p) => ({
      part: true, tally: p,
      name: el("a", { href: href("rows", { column: c.column, prefix: p.prefix, kind: p.name }), title: p.name }, p.space ?? p.name),
    })),
  ]));
}

function contexts(list) {
  if (!list.length) return el("p", { class: "quiet" }, "There are none.");
  return measured("Context", list.flatMap((c) => [
    { name: marked(el("a", { href: href("deltas", { context: c.context_id }) }, short(c.context_id)), about("", c.context_id)), tally: c },
    ...c.columns.map((p) => ({
      part: true, tally: p, name: el("a", { href: href("rows", { column: p.name, prefix: c.context_id }) }, p.name),
    })),
  ]));
}
