// The graphs: the deltas of a context, and the ops of a namespace.
import { ask, count, counted, el, href, notice, time } from "./dom.js";
import { leftOut } from "./checks.js";
import { showDetail, showRow, tree } from "./detail.js";
import { draw } from "./draw.js";
import { copy, digits, whole } from "./names.js";

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

const usual = 500;
const most = 20000; // that the server gives

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
  const namespace = kind.noun === "namespace" ? id : "";
  const load = (limit) => ask(kind.data, { [kind.noun]: id, before: parameters.before, id: namespace ? "" : parameters.id, limit });
  let limit = usual;
  let graph = await load(limit);
  if (parameters.id && graph.more && !graph.nodes.some((n) => n.id === parameters.id)) graph = await load(limit = most);
  if (!current()) return;
  box.append(leftOut(graph));
  if (!graph.nodes.length) {
    box.append(el("p", { class: "quiet empty" }, "It has none."));
    return;
  }
  const [legend, place, foot] = [el("div", { class: "legend" }), el("div"), el("div")];
  const field = el("input", { type: "search", name: "find", placeholder: "find in these: an id, a key, a name, a kind", "aria-label": "Find in these", spellcheck: "false", autocomplete: "off" });
  const found = el("span", { class: "quiet", role: "status" });
  const find = () => {
    const n = place.firstElementChild.find(field.value);
    found.textContent = field.value.trim() ? n === 1 ? "1 match" : `${count(n)} matches` : "";
  };
  field.addEventListener("input", find);
  let asking = false;
  const draws = () => {
    const picture = draw(graph, {
      label: kind.title, select: (node) => select(node, namespace),
      near: async () => { // older ones are asked for when they come near
        if (asking || !graph.more || limit >= most || !current()) return;
        asking = true;
        foot.replaceChildren(el("p", { class: "quiet" }, "Reading older ones…"));
        const next = await load(limit = Math.min(4 * limit, most)).catch((error) => ({ error }));
        asking = false;
        if (!current()) return;
        if (next.error) {
          foot.replaceChildren(notice("error", next.error.message));
          return;
        }
        graph = next;
        draws();
      },
    });
    const seen = new Set(graph.nodes.map((n) => n.kind));
    legend.replaceChildren(...Object.entries(kind.legend).filter(([k]) => seen.has(k)).map(([k, what]) => el("span", {}, el("i", { class: `dot ${k}` }), what)),
      el("span", {}, el("i", { class: "dot head" }), "head"),
      el("span", { class: "quiet" }, `${counted(graph.nodes.length, "node")} in ${counted(graph.lanes, "lane")}`));
    place.replaceChildren(picture);
    foot.replaceChildren(older(graph, id, kind, limit));
    if (field.value) find();
    return picture;
  };
  box.append(legend, el("form", { class: "search", onsubmit: (event) => { event.preventDefault(); place.firstElementChild.go(); } }, field, found), place, foot);
  const picture = draws();
  if (parameters.id) {
    const node = picture.to(parameters.id);
    if (node) await select(node, namespace);
    else box.insertBefore(notice("warning", "It is not among these."), place);
  }
}

function picker(list, id, kind) {
  const known = list.items.some((i) => i.id === id);
  const select = el("select", {
    "aria-label": kind.noun, onchange: (event) => { location.hash = href(kind.view, { [kind.noun]: event.target.value }); },
  }, !known && el("option", { value: id, selected: true }, id),
  list.items.map((i) => el("option", { value: i.id, selected: i.id === id },
    `${i.alias ? `${i.alias} · ${digits(i.id, 8)}` : i.id} · ${i.fault ?? counted(i.heads, "head")}`)));
  return el("div", { class: "picker" }, select, copy(id), list.next && el("span", { class: "quiet" }, `the first ${count(list.items.length)}`));
}

// older leads to those before the oldest that a page has.
function older(graph, id, kind, limit) {
  if (!graph.more || limit < most) return "";
  if (graph.more === "limit") return notice("info", "Older ones are not shown.");
  return el("div", { class: "pager" }, el("a", { class: "next", href: href(kind.view, { [kind.noun]: id, before: graph.more }) }, "older →"));
}

// select shows what there is of a node; of an op of a namespace also what it does.
async function select(node, namespace) {
  const op = namespace && await ask("op", { namespace, id: node.id }).catch(() => null); // one that was not taken is its row
  const about = [
    el("dl", { class: "about" },
      el("dt", {}, "id"), el("dd", {}, whole(node.id, "")),
      el("dt", {}, "is"), el("dd", {}, node.kind + (node.head ? ", a head" : "")),
      node.by && [el("dt", {}, "by"), el("dd", {}, whole(node.by, node.name))],
      node.verdict && [el("dt", {}, "verdict"), el("dd", {}, node.verdict)],
      op?.group && [el("dt", {}, "group"), el("dd", {}, whole(op.group, op.group_name))],
      node.time && [el("dt", {}, "at"), el("dd", {}, time(node.time))],
      el("dt", {}, "parents"), el("dd", {}, node.parents.length ? node.parents.map((p) => el("div", {}, whole(p, ""))) : el("span", { class: "none" }, "none"))),
    op?.content && el("h3", {}, "What it does"), op?.content && tree(op.content),
    op && !op.content && notice("info", "It is sealed, and no key has opened it here."),
  ].filter(Boolean);
  if (node.at) showRow(node.column, node.at, ...about);
  else showDetail(node.label, ...about);
}
