// Drawing a graph that the server has placed: every node has a row and a lane,
// every edge runs down a lane of its own. It does not care what the nodes are.
import { el, time } from "./dom.js";
import { digits } from "./names.js";
import { Lines } from "./window.js";

const rowHeight = 30;

// draw returns the picture, of which only what is in the window is drawn. select is called
// with a node that is chosen, near when the last ones are in the window. The element has
// find, which marks the nodes that have a text and returns how many there are, go, which
// moves to the next of them, and to, which moves to the node with an id.
export function draw(graph, { label, select, near }) {
  const { nodes, edges } = graph;
  const gap = Math.max(6, Math.min(18, 260 / graph.lanes));
  const x = (lane) => 16 + lane * gap;
  const width = x(graph.lanes - 1) + 18;
  const radius = Math.min(6, gap / 2.2);
  const colour = (lane) => `lane${lane % 8}`;

  const svg = d3.create("svg").attr("width", width).attr("aria-hidden", "true");
  const paths = svg.append("g");
  const dots = svg.append("g");
  const related = relations(graph);
  let marked = null; // the rows that are not dim; null: none is
  let matches = [];

  const list = el("div", { class: "lines", role: "listbox", "aria-label": label, onmouseleave: () => mark(null) });
  const lanes = el("div", { class: "lanes" }, svg.node());
  const lines = new Lines({ list, height: () => rowHeight, of: line, choose: (i) => choose(i), focused: (i) => mark(i), seen: lay });
  list.addEventListener("focusout", () => mark(null));

  function choose(i) {
    for (const e of list.querySelectorAll('[aria-selected="true"]')) e.setAttribute("aria-selected", "false");
    list.querySelector(`[data-line="${i}"]`)?.setAttribute("aria-selected", "true");
    select(nodes[i]);
  }

  function line(i) {
    const n = nodes[i];
    return el("div", {
      class: `line ${n.kind}${n.verdict && n.verdict !== "effective" ? " idle" : ""}${dim(i) ? " dim" : ""}`, role: "option", "aria-selected": "false",
      "aria-posinset": i + 1, "aria-setsize": nodes.length, onclick: () => choose(i), onmouseenter: () => mark(i),
    }, el("code", { class: "id", title: n.id }, digits(n.id)), el("span", { class: "label", title: n.label }, n.label), n.head && el("span", { class: "tag" }, "head"),
    el("span", { class: "by", title: [n.by, n.verdict].filter(Boolean).join(", ") }, signed(n)), n.time ? time(n.time) : el("span"));
  }

  const dim = (row) => (marked ? !marked.has(row) : matches.length > 0 && !nodes[row].matches);

  // mark shows what a node builds on, and what builds on it.
  function mark(row) {
    marked = row === null ? null : related(row);
    shade();
  }

  function shade() {
    for (const e of list.children) e.classList.toggle("dim", dim(Number(e.dataset.line)));
    dots.selectAll("g").classed("dim", (n) => dim(n.row));
    paths.selectAll("path").classed("dim", (e) => marked !== null && !(marked.has(e.from) && (e.to < 0 || marked.has(e.to))));
  }

  // lay draws the nodes from one row to another, and the edges beside them.
  function lay(from, to) {
    const y = (row) => rowHeight / 2 + (row - from) * rowHeight;
    svg.attr("height", Math.max(0, to - from) * rowHeight + 12).style("margin-top", `${from * rowHeight}px`);
    paths.selectAll("path").data(edges.filter((e) => e.from < to && (e.to < 0 ? e.from + 1 : e.to) >= from), (e) => `${e.from} ${e.to} ${e.lane}`).join("path")
      .attr("class", (e) => `edge ${colour(e.lane)}${e.to < 0 ? " beyond" : ""}`)
      .attr("d", (e) => route(nodes[e.from], e.to < 0 ? null : nodes[e.to], e.lane, x, y));
    const some = dots.selectAll("g").data(nodes.slice(from, to), (n) => n.row).join((enter) => {
      const g = enter.append("g").attr("class", (n) => `node ${n.kind}${n.head ? " head" : ""}`);
      g.filter((n) => n.head).append("circle").attr("class", "ring").attr("r", radius + 3);
      g.append("circle").attr("class", "dot").attr("r", radius);
      return g;
    });
    some.attr("transform", (n) => `translate(${x(n.lane)},${y(n.row)})`);
    shade();
    if (to + 20 >= nodes.length) near?.();
  }

  const graphed = el("div", { class: "graph" }, lanes, list);
  graphed.find = (text) => {
    const part = text.trim().toLowerCase();
    for (const n of nodes) n.matches = part !== "" && [n.id, n.label, n.name, n.by, n.kind, n.verdict, n.time].some((t) => t?.toLowerCase().includes(part));
    matches = nodes.filter((n) => n.matches);
    shade();
    return matches.length;
  };
  graphed.go = () => {
    const next = matches.find((n) => n.row > lines.active) ?? matches[0];
    if (next) lines.go(next.row);
  };
  graphed.to = (id) => {
    const node = nodes.find((n) => n.id === id);
    if (node) lines.go(node.row);
    return node;
  };
  lines.resize(nodes.length);
  return graphed;
}

// signed says whose a node is, and what became of it.
const signed = (n) => [n.name || n.by ? "by " + (n.name || digits(n.by, 8)) : "",
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
