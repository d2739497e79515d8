// The tree of groups with their members.
import { ask, counted, el, fit, href, notice } from "./dom.js";
import { short, whole } from "./names.js";
import { roving } from "./roving.js";
import { narrow } from "./window.js";
import { about, leftOut, whenChecked } from "./checks.js";
import { asked, showDetail } from "./detail.js";

let ofOps = []; // the first bytes of the keys of rows that are of a namespace, and not of its root group

export async function groups({ box, store, parameters, current }) {
  ofOps = store.columns.find((c) => c.name === "Group").kinds.filter((k) => k.name.startsWith("Namespace")).map((k) => k.prefix);
  const doc = await ask("groups");
  if (!current()) return;
  box.append(el("h1", {}, "Groups ", el("small", {}, counted(doc.groups.length, "group") + (doc.more ? ", and more" : ""))));
  box.append(leftOut(doc));
  if (!doc.groups.length) {
    box.append(el("p", { class: "quiet empty" }, "There are no groups here."));
    return;
  }
  const { root, astray } = rooted(doc.groups);
  if (astray) box.append(notice("warning", `${counted(astray, "group")} that no root group leads to: verify --full says more`));
  const drawn = el("div", {}, picture(root));
  whenChecked(current, () => drawn.replaceChildren(picture(root)));
  narrow.onchange = () => current() && drawn.replaceChildren(picture(root));
  box.append(drawn);
  if (parameters.id) await choose(parameters.id);
}

// rooted hangs the groups below each other, and the root groups below one that
// is not drawn. Those of a cycle are astray.
function rooted(list) {
  const ids = new Set(list.map((g) => g.id));
  const below = new Map();
  for (const g of list) {
    const parent = ids.has(g.parent) ? g.parent : "";
    below.set(parent, [...(below.get(parent) ?? []), g]);
  }
  const placed = new Set();
  const build = (g) => {
    if (g.id) placed.add(g.id);
    return { ...g, children: (below.get(g.id) ?? []).filter((c) => !placed.has(c.id)).map(build) };
  };
  const root = build({ id: "", members: [] });
  return { root, astray: list.length - placed.size };
}

const [boxWidth, lineHeight, gapX, gapY] = [230, 20, 60, 18];
const heightOf = (g) => 44 + lineHeight * (g.members.length + (g.more_members ? 1 : 0));

// picture draws the tree from left to right: a box for each group.
function picture(data) {
  const root = d3.hierarchy(data);
  let bottom = 0;
  if (narrow.matches) { // one below the other, and further in the deeper
    root.eachBefore((n) => {
      n.y = (n.depth - 1) * 18;
      n.x = bottom;
      if (n.depth) bottom += heightOf(n.data) + gapY;
    });
  } else root.eachAfter((n) => { // leaves one below the other, parents in the middle of their children
    n.y = (n.depth - 1) * (boxWidth + gapX);
    const own = n.depth ? heightOf(n.data) : 0;
    if (!n.children) {
      n.x = bottom;
      bottom += own + gapY;
      return;
    }
    const last = n.children.at(-1);
    const middle = (n.children[0].x + last.x + heightOf(last.data)) / 2;
    n.x = Math.max(middle - own / 2, n.children[0].x);
    bottom = Math.max(bottom, n.x + own + gapY);
  });
  const nodes = root.descendants().slice(1);
  const width = d3.max(nodes, (n) => n.y) + boxWidth + 4;
  const height = d3.max(nodes, (n) => n.x + heightOf(n.data)) + 4;
  const svg = d3.create("svg").attr("width", width).attr("height", height).attr("viewBox", `-2 -2 ${width} ${height}`).attr("role", "group").attr("aria-label", "The tree of groups");
  const link = d3.linkHorizontal();
  svg.append("g").selectAll("path").data(root.links().filter((l) => l.source.depth)).join("path").attr("class", "branch")
    .attr("d", (l) => (narrow.matches ? `M${l.source.y + 9},${l.source.x + heightOf(l.source.data)}V${l.target.x + 22}H${l.target.y}` : link({
      source: [l.source.y + boxWidth, l.source.x + 22],
      target: [l.target.y, l.target.x + 22],
    })));
  const boxes = svg.append("g").selectAll("g").data(nodes).join("g").attr("class", (n) => (wrong(n.data) ? "group bad" : "group")).attr("role", "button")
    .attr("aria-label", (n) => `${n.data.alias || n.data.id.slice(0, 12)}, ${n.depth === 1 ? "root group" : "group"}`)
    .attr("transform", (n) => `translate(${n.y},${n.x})`)
    .on("click", (_, n) => choose(n.data.id));
  boxes.append("rect").attr("width", boxWidth).attr("height", (n) => heightOf(n.data)).attr("rx", 8);
  boxes.append("text").attr("class", "name").attr("x", 12).attr("y", 20).text((n) => n.data.alias ? fit(n.data.alias, 26) : fit(n.data.id, 13));
  boxes.append("text").attr("class", "sub").attr("x", 12).attr("y", 35)
    .text((n) => (wrong(n.data) ? `⚠ damaged · ${n.data.id.slice(0, 12)}…` : n.data.alias ? n.data.id.slice(0, 12) + "…" : n.depth === 1 ? "root group" : "group"));
  boxes.each(function (n) {
    const lines = n.data.members.map((m) => ({ text: m.alias ? fit(m.alias, 18) : fit(m.identity, 13), role: m.role }));
    if (n.data.more_members) lines.push({ text: "and more", role: "" });
    const line = d3.select(this).selectAll("g").data(lines).join("g").attr("transform", (_, i) => `translate(12,${52 + i * lineHeight})`);
    line.append("circle").attr("class", (l) => `role ${l.role}`).attr("r", (l) => (l.role ? 4 : 0)).attr("cx", 4).attr("cy", -4);
    line.append("text").attr("class", "member").attr("x", 14).text((l) => l.text);
    line.append("text").attr("class", "sub").attr("x", boxWidth - 24).attr("text-anchor", "end").text((l) => l.role.replace("_", " "));
  });
  return roving(el("div", { class: "scroll tree" }, svg.node()), ".group");
}

// wrong reports whether a group, or a row of it that the fast checks have looked at, is
// damaged. Keys of the column begin with a byte for their type.
const wrong = (g) => g.fault || about("Group", "", (key) => key.slice(2, 66) === g.id && !ofOps.includes(key.slice(0, 2))) > 0;

// choose shows everything of a group.
async function choose(id) {
  const g = await asked("A group", "group", { id });
  if (!g) return;
  showDetail(g.alias || "A group",
    g.fault && notice("error", g.fault),
    el("dl", { class: "about" },
      el("dt", {}, "id"), el("dd", {}, whole(g.id, "")),
      g.parent && [el("dt", {}, "parent"), el("dd", {}, whole(g.parent))],
      g.admin && [el("dt", {}, "admin"), el("dd", {}, whole(g.admin, g.admin_alias))],
      g.upgrade_policy && [el("dt", {}, "upgrades"), el("dd", {}, g.upgrade_policy)]),
    el("h3", {}, "Members ", el("small", {}, g.more_members ? `the first ${g.members.length}` : g.members.length)),
    el("ul", { class: "members" }, g.members.map((m) => el("li", {},
      el("span", { class: "tag" }, m.role.replace("_", " ")), " ", el("span", { title: m.elsewhere ? "the name that another group gives" : "" }, whole(m.identity, m.alias || undefined)),
      m.capabilities && el("div", { class: "quiet" }, m.capabilities)))),
    el("h3", {}, "Contexts ", el("small", {}, (g.contexts ?? []).length)),
    el("ul", { class: "members" }, (g.contexts ?? []).map((c) => el("li", {},
      el("a", { href: href("deltas", { context: c.id }) }, short(c.id, c.alias || undefined))))));
}
