// What a daemon does, as it does it.
import { ask, count, el, notice, size } from "./dom.js";

const every = 2000;
const kept = 60; // looks that are drawn

let looks = [];
let turn = 0;
const waiting = new Set();

// whenLive calls update after each look, for as long as current says so.
export function whenLive(current, update) {
  const call = () => (current() ? update() : waiting.delete(call));
  waiting.add(call);
}

// follow looks at the daemon until it is called again, or stop is; changed is called when
// the store has.
export async function follow(changed) {
  const mine = ++turn;
  looks = [];
  while (mine === turn) {
    const began = Date.now();
    const look = await ask("live").catch((error) => ({ error: error.message }));
    if (mine !== turn) return;
    const before = looks.at(-1);
    look.rate = before && !look.error && !before.error ? Math.max(0, Number(look.sequence) - Number(before.sequence)) * 1000 / Math.max(1, Date.parse(look.at) - Date.parse(before.at)) : null;
    looks = [...looks, look].slice(-kept);
    for (const call of [...waiting]) call();
    if (!look.error) await changed(look);
    // What takes long is done less often.
    await new Promise((resolve) => setTimeout(resolve, Math.max(every, 4 * (Date.now() - began))));
  }
}

export function stop() {
  turn++;
  looks = [];
  for (const call of [...waiting]) call();
}

// doing is what the daemon does now.
export function doing() {
  const now = looks.at(-1);
  if (!now) return "";
  if (now.error) return notice("warning", now.error);
  const writes = now.refuses ? `refused: ${now.refuses}` : now.stopped ? "wait for compaction" : "taken";
  const items = [["Writes", writes], ["Changes", now.rate === null ? "…" : `${now.rate < 10 ? now.rate.toFixed(1) : count(Math.round(now.rate))}/s`], ["Log", size(now.wal_bytes)],
    ["In memory", size(now.memory_bytes)], ["On disk", size(now.disk_bytes)], ["To compact", size(now.pending_compaction_bytes)], ["Snapshots", count(now.snapshots)]];
  return el("section", { class: "doing", "aria-label": "What the daemon does" },
    el("dl", { class: "facts" }, items.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))), el("div", { class: "rates" }, rates()));
}

// rates draws the changes a second of the last looks.
function rates() {
  const list = looks.map((l) => l.rate ?? 0);
  const [width, height] = [180, 36];
  const x = d3.scaleLinear([kept - list.length, kept - 1], [width * (1 - (list.length - 1) / (kept - 1)), width]);
  const y = d3.scaleLinear([0, d3.max(list) || 1], [height - 1, 2]);
  const svg = d3.create("svg").attr("width", width).attr("height", height).attr("role", "img").attr("aria-label", `Changes a second of the last ${list.length} looks, at most ${count(Math.round(d3.max(list) ?? 0))}`);
  svg.append("path").attr("class", "rate").attr("d", d3.line((_, i) => x(kept - list.length + i), (v) => y(v))(list));
  return svg.node();
}
