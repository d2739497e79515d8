// The locks that are held, and who waits for whom.
import { ask, count, counted, el, fit, href, time } from "./dom.js";
import { leftOut } from "./checks.js";
import { tenantPicker } from "./records.js";

export async function locks({ box, parameters, current }) {
  const all = await ask("tenants");
  if (!current()) return;
  box.append(el("h1", {}, "Locks"));
  if (!all.tenants.length) {
    box.append(leftOut(all), el("p", { class: "quiet empty" }, "There are no tenants here."));
    return;
  }
  const tenant = parameters.tenant ?? all.tenants[0];
  const here = { tenant, prefix: parameters.prefix };
  const page = await ask("locks", { ...here, cursor: parameters.cursor });
  if (!current()) return;
  box.append(tenantPicker(all, tenant, (chosen) => href("locks", { tenant: chosen })), prefixForm(here),
    el("p", { class: "quiet" }, page.live ? "As they are now." : "As the store has them; who waits for them is known to a daemon only, which --socket asks."), leftOut(page));
  const edges = page.locks.flatMap((l) => (l.waiting ?? []).flatMap((w) => l.holders.filter((h) => h.agent !== w.agent).map((h) => ({ from: w.agent, to: h.agent, lock: l.name }))));
  if (edges.length) box.append(el("h2", {}, "Who waits for whom"), picture(edges));
  box.append(el("h2", {}, "Held ", el("small", {}, counted(page.locks.length, "lock"))),
    page.locks.length ? table(page.locks) : el("p", { class: "quiet" }, "No lock is held."),
    el("div", { class: "pager" },
      parameters.cursor && el("a", { href: href("locks", here) }, "⇤ first page"),
      page.next && el("a", { class: "next", href: href("locks", { ...here, cursor: page.next }) }, "next page →")));
}

function prefixForm(here) {
  const prefix = el("input", { name: "prefix", value: here.prefix ?? "", placeholder: "names that begin with, as resource:database:", "aria-label": "prefix", spellcheck: "false", autocomplete: "off" });
  return el("form", {
    class: "search",
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = href("locks", { tenant: here.tenant, prefix: prefix.value.trim() });
    },
  }, prefix, el("button", {}, "Show"));
}

const table = (list) => el("div", { class: "scroll" }, el("table", { class: "rows" },
  el("thead", {}, el("tr", {}, ["Lock", "Held by", "Until", "Waiting"].map((t) => el("th", {}, t)), el("th", { class: "number" }, "Token"))),
  el("tbody", {}, list.flatMap((l) => l.holders.map((h, i) => el("tr", {},
    el("td", { class: "type" }, i === 0 && l.name), el("td", {}, h.agent, " ", l.mode === "shared" && el("span", { class: "tag" }, "shared"), h.purpose && el("div", { class: "quiet" }, h.purpose)),
    el("td", {}, time(h.expires_at)), el("td", {}, i === 0 && (l.waiting ?? []).map((w) => el("div", {}, w.agent, w.mode === "shared" && el("span", { class: "quiet" }, " to share")))),
    el("td", { class: "number" }, count(h.token))))))));

const [boxWidth, boxHeight, gapX, gapY] = [150, 30, 150, 16];

// picture draws agents from left to right: whoever waits is left of those it waits for.
function picture(edges) {
  const layer = layers(edges);
  const columns = [];
  for (const [agent, at] of layer) (columns[at] ??= []).push(agent);
  const last = columns.length - 1;
  const place = new Map(columns.flatMap((list, at) => list.map((agent, row) => [agent, { x: (last - at) * (boxWidth + gapX), y: row * (boxHeight + gapY) }])));
  const width = last * (boxWidth + gapX) + boxWidth + 4;
  const height = d3.max(columns, (list) => list.length) * (boxHeight + gapY) + 4;
  const svg = d3.create("svg").attr("width", width).attr("height", height).attr("viewBox", `-2 -2 ${width} ${height}`).attr("role", "img").attr("aria-label", edges.map((e) => `${e.from} waits for ${e.to}: ${e.lock}`).join("; "));
  const link = d3.linkHorizontal();
  const ends = (e) => ({ source: [place.get(e.from).x + boxWidth, place.get(e.from).y + boxHeight / 2], target: [place.get(e.to).x, place.get(e.to).y + boxHeight / 2] });
  const lines = svg.append("g").selectAll("g").data(edges).join("g");
  lines.append("path").attr("class", "branch").attr("d", (e) => link(ends(e)));
  lines.append("text").attr("class", "sub").attr("text-anchor", "middle")
    .attr("x", (e) => (ends(e).source[0] + ends(e).target[0]) / 2).attr("y", (e) => (ends(e).source[1] + ends(e).target[1]) / 2 - 4).text((e) => fit(e.lock, 24))
    .append("title").text((e) => e.lock);
  const boxes = svg.append("g").selectAll("g").data([...place]).join("g").attr("transform", ([, p]) => `translate(${p.x},${p.y})`);
  boxes.append("rect").attr("width", boxWidth).attr("height", boxHeight).attr("rx", 8);
  boxes.append("text").attr("x", 12).attr("y", 20).text(([agent]) => fit(agent, 18)).append("title").text(([agent]) => agent);
  return el("div", { class: "scroll tree waits" }, svg.node());
}

// layers says of each agent how many it waits for, one behind the other; of a cycle, which a
// daemon ends soon, somebody comes first.
function layers(edges) {
  const of = new Map();
  const visit = (agent, above) => {
    if (of.has(agent)) return of.get(agent);
    if (above.has(agent)) return 0;
    const next = edges.filter((e) => e.from === agent).map((e) => visit(e.to, new Set([...above, agent])) + 1);
    of.set(agent, Math.max(0, ...next));
    return of.get(agent);
  };
  for (const e of edges) visit(e.from, new Set());
  return of;
}
