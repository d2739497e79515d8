// The graphs: the deltas of a context, and the ops of a namespace.
import { ask, count, counted, el, href, notice, short, time } from "./dom.js";
import { leftOut } from "./checks.js";
import { showDetail, showRow, tree } from "./detail.js";
import { draw } from "./draw.js";

export const deltas = (view) => graphView(view, {
  title: "Deltas", noun: "context", list: "contexts", data: "deltas", view: "deltas",
  none: "No context here has a description (a row of Meta).",
  legend: { applied: "applied", pending: "waits for others", missing: "missing", base: "began with a snapshot", aside: "set aside: its author may not write any more, and nobody who may has built on it", damaged: "damaged" },
});

export const governance = (view) => graphView(view, {
  title: "Governance", noun: "namespace", list: "namespaces", data: "ops", view: "governance",
  none: "There is no namespace here that has ops.",
  legend: { root: "clear to all members", opened: "of a group, opened by a key that is here", group: "of a group, sealed", opaque: "forgotten", missing: "missing", damaged: "damaged" },
});

async function graphView({ box, parameters, current }, kind) {
  const list = await ask(kind.list, { limit: 200 });
  if (!current()) return;
  box.append(el("h1", {}, kind.title));
  if (!list.items.length && !parameters[kind.noun]) {
    box.append(el("p", { class: "quiet empty" }, kind.none));
    return;
  }
  const id = parameters[kind.noun] ?? list.items[0].id;
  box.append(picker(list, id, kind), leftOut(list));
  const graph = await ask(kind.data, { [kind.noun]: id, before: parameters.before, limit: parameters.limit });
  if (!current()) return;
  box.append(leftOut(graph));
  if (!graph.nodes.length) {
    box.append(el("p", { class: "quiet empty" }, "It has none."));
    return;
  }
  const seen = new Set(graph.nodes.map((n) => n.kind));
  box.append(
    el("div", { class: "legend" },
      Object.entries(kind.legend).filter(([k]) => seen.has(k)).map(([k, text]) => el("span", {}, el("i", { class: `dot ${k}` }), text)),
      el("span", {}, el("i", { class: "dot head" }), "head"),
      el("span", { class: "quiet" }, `${counted(graph.nodes.length, "node")} in ${counted(graph.lanes, "lane")}`)),
    draw(graph, (node) => select(node, kind.noun === "namespace" ? id : "")),
    more(graph, id, kind, parameters));
}

function picker(list, id, kind) {
  const known = list.items.some((i) => i.id === id);
  const select = el("select", {
    "aria-label": kind.noun, onchange: (event) => { location.hash = href(kind.view, { [kind.noun]: event.target.value }); },
  }, !known && el("option", { value: id, selected: true }, id),
  list.items.map((i) => el("option", { value: i.id, selected: i.id === id },
    `${i.alias ? i.alias + " · " : ""}${i.id} · ${i.fault ?? counted(i.heads, "head")}`)));
  return el("div", { class: "picker" }, select, list.next && el("span", { class: "quiet" }, `the first ${count(list.items.length)}`));
}

function more(graph, id, kind, parameters) {
  if (!graph.more) return "";
  const next = graph.more === "limit"
    ? { limit: Math.min(2 * Number(parameters.limit ?? 200), 2000) }
    : { before: graph.more, limit: parameters.limit };
  if (graph.more === "limit" && Number(parameters.limit) >= 2000) return notice("info", "Older ones are not shown.");
  return el("div", { class: "pager" }, el("a", { class: "next", href: href(kind.view, { [kind.noun]: id, ...next }) }, "older →"));
}

// select shows what there is of a node; of an op of a namespace also what it does.
async function select(node, namespace) {
  const op = namespace && await ask("op", { namespace, id: node.id }).catch(() => null); // one that was not taken is its row
  const about = [
    el("dl", { class: "about" },
      el("dt", {}, "id"), el("dd", {}, el("code", {}, node.id)),
      el("dt", {}, "is"), el("dd", {}, node.kind + (node.head ? ", a head" : "")),
      node.by && [el("dt", {}, "by"), el("dd", {}, node.name && `${node.name}  `, el("code", {}, node.by))],
      node.verdict && [el("dt", {}, "verdict"), el("dd", {}, node.verdict)],
      op?.group && [el("dt", {}, "group"), el("dd", {}, op.group_name && `${op.group_name}  `, el("code", {}, op.group))],
      node.time && [el("dt", {}, "at"), el("dd", {}, time(node.time))],
      el("dt", {}, "parents"), el("dd", {}, node.parents.length ? node.parents.map((p) => el("div", {}, short(p))) : el("span", { class: "none" }, "none"))),
    op?.content && el("h3", {}, "What it does"), op?.content && tree(op.content),
    op && !op.content && notice("info", "It is sealed, and no key has opened it here."),
  ].filter(Boolean);
  if (node.at) showRow(node.column, node.at, ...about);
  else showDetail(node.label, ...about);
}
