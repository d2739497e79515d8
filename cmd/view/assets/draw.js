// Drawing a graph that the server has placed: every node has a row and a lane,
// every edge runs down a lane of its own. It does not care what the nodes are.
import { el, short, time } from "./dom.js";

const rowHeight = 30;

// draw returns the picture; select is called with a node that is chosen.
export function draw(graph, select) {
  const gap = Math.max(6, Math.min(18, 260 / graph.lanes));
  const x = (lane) => 16 + lane * gap;
  const y = (row) => rowHeight / 2 + row * rowHeight;
  const width = x(graph.lanes - 1) + 18;
  const height = graph.nodes.length * rowHeight + 12;
  const colour = (lane) => `lane${lane % 8}`;

  const svg = d3.create("svg").attr("width", width).attr("height", height).attr("aria-hidden", "true");
  const edges = svg.append("g").attr("class", "edges").selectAll("path").data(graph.edges).join("path")
    .attr("class", (e) => `edge ${colour(e.lane)}${e.to < 0 ? " beyond" : ""}`)
    .attr("d", (e) => route(graph.nodes[e.from], e.to < 0 ? null : graph.nodes[e.to], e.lane, x, y));
  const radius = Math.min(6, gap / 2.2);
  const dots = svg.append("g").selectAll("g").data(graph.nodes).join("g")
    .attr("transform", (n) => `translate(${x(n.lane)},${y(n.row)})`)
    .attr("class", (n) => `node ${n.kind}${n.head ? " head" : ""}`);
  dots.filter((n) => n.head).append("circle").attr("class", "ring").attr("r", radius + 3);
  dots.append("circle").attr("class", "dot").attr("r", radius);

  const related = relations(graph);
  const mark = (row) => {
    const of = row === null ? null : related(row);
    dots.classed("dim", (n) => of !== null && !of.has(n.row));
    edges.classed("dim", (e) => of !== null && !(of.has(e.from) && (e.to < 0 || of.has(e.to))));
    for (const [i, line] of lines.entries()) line.classList.toggle("dim", of !== null && !of.has(i));
  };
  const lines = graph.nodes.map((n) => {
    const choose = () => select(n);
    return el("div", {
      class: `line ${n.kind}${n.verdict && n.verdict !== "effective" ? " idle" : ""}`, tabindex: "0", role: "button", onclick: choose,
      onkeydown: (event) => { if (event.key === "Enter") choose(); },
      onmouseenter: () => mark(n.row), onfocus: () => mark(n.row), onblur: () => mark(null),
    }, short(n.id), el("span", { class: "label", title: n.label }, n.label), n.head && el("span", { class: "tag" }, "head"),
    el("span", { class: "by", title: [n.by, n.verdict].filter(Boolean).join(", ") }, signed(n)), n.time ? time(n.time) : el("span"));
  });
  const list = el("div", { class: "lines", onmouseleave: () => mark(null) }, lines);
  const lanes = el("div", { class: "lanes" }, svg.node());
  return el("div", { class: "graph" }, lanes, list);
}

// signed says whose a node is, and what became of it.
const signed = (n) => [n.name || n.by ? "by " + (n.name || (n.by.length > 10 ? n.by.slice(0, 8) + "…" : n.by)) : "",
  n.verdict && el(n.verdict === "effective" ? "span" : "b", { class: "verdict" }, n.verdict)].filter(Boolean);

// route is the way of an edge: out of its child into its lane, down, and over to
// its parent.
function route(from, to, lane, x, y) {
  const path = d3.path();
  const [x0, y0] = [x(from.lane), y(from.row)];
  path.moveTo(x0, y0);
  if (!to) {
    path.lineTo(x0, y0 + rowHeight * 0.8);
    return path;
  }
  const [x1, y1, middle] = [x(to.lane), y(to.row), x(lane)];
  bend(path, x0, y0, middle, y0 + rowHeight);
  if (y1 - y0 > rowHeight) {
    path.lineTo(middle, y1 - (middle === x1 ? 0 : rowHeight));
    bend(path, middle, y1 - rowHeight, x1, y1);
  } else if (middle !== x1) {
    path.lineTo(x1, y1);
  }
  return path;
}

function bend(path, x0, y0, x1, y1) {
  if (x0 === x1) path.lineTo(x1, y1);
  else path.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
}

// relations returns what finds the rows of a node's ancestors and descendants.
function relations(graph) {
  const up = graph.nodes.map(() => []);
  const down = graph.nodes.map(() => []);
  for (const e of graph.edges) {
    if (e.to < 0) continue;
    down[e.from].push(e.to);
    up[e.to].push(e.from);
  }
  return (row) => {
    const found = new Set([row]);
    for (const next of [up, down]) {
      const queue = [row];
      const seen = new Set(queue);
      for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
        for (const other of next[at]) {
          if (seen.has(other)) continue;
          seen.add(other);
          found.add(other);
          queue.push(other);
        }
      }
    }
    return found;
  };
}
