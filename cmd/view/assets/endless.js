// A table that goes on as it is scrolled: a page is asked for when it comes near, and
// forgotten when it is far away.
import { counted, el, notice } from "./dom.js";
import { leftOut } from "./checks.js";
import { Lines, lineHeight } from "./window.js";

const mostLines = 800_000; // higher is no element
const keptPages = 40;
const ahead = 40; // lines before the end at which the next page is asked for

// endless returns a table. load asks for the page behind a cursor ("" is the first, unless that
// is at hand); of is the field of a page that has the items, and next the next cursor. A column
// has a head, a class, and the cell of an item; open shows one; onward is where a list leads
// that is too long.
export async function endless({ label, columns, load, of, first, open, empty, onward, bad = () => false }) {
  first ??= await load("");
  const pages = [{ cursor: "", items: first[of], start: 0, count: first[of].length }];
  let next = first.next;
  let asking = false;
  let total = first[of].length;
  const remarks = el("div");
  const foot = el("div", { class: "foot" });
  const say = (page) => {
    remarks.append(leftOut(page));
    if (page.fault) remarks.append(notice("error", `What follows cannot be read: ${page.fault}`));
  };
  say(first);
  if (!total) return el("div", {}, remarks, el("p", { class: "quiet empty" }, empty));

  const pageOf = (i) => {
    let [low, high] = [0, pages.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (pages[middle].start <= i) low = middle;
      else high = middle - 1;
    }
    return pages[low];
  };
  const cells = (item) => columns.map((c) => el("div", { role: "gridcell", class: c.class }, c.cell(item)));
  const line = (i) => {
    const item = itemOf(i);
    return el("div", {
      role: "row", "aria-rowindex": i + 2, class: `tr${item && bad(item) ? " bad" : ""}`, onclick: () => choose(i),
    }, item ? cells(item) : el("div", { role: "gridcell", class: "quiet" }, "…"));
  };
  const itemOf = (i) => {
    const page = pageOf(i);
    return page.items?.[i - page.start];
  };
  const choose = (i) => {
    const item = itemOf(i);
    if (item && open && !getSelection().toString()) open(item);
  };
  const body = el("div", { class: "tbody", role: "rowgroup" });
  const grid = el("div", { class: "grid", role: "grid", "aria-label": label, "aria-rowcount": next ? -1 : total + 1 },
    el("div", { role: "rowgroup" }, el("div", { class: "tr th", role: "row", "aria-rowindex": 1 }, columns.map((c) => el("div", { role: "columnheader", class: c.class }, c.head)))), body);
  const tell = () => {
    grid.setAttribute("aria-rowcount", next ? -1 : total + 1);
    foot.replaceChildren(el("span", { class: "quiet" }, next ? `${counted(total, "row")} so far` : counted(total, "row")));
    if (next && total >= mostLines) foot.append(" ", onward ? el("a", { href: onward(next) }, "go on from here →") : "and more");
  };
  const lines = new Lines({ list: body, height: () => lineHeight(36, 60), of: line, choose, seen });

  function seen(from, to) {
    const here = pages.indexOf(pageOf(from));
    for (const [n, page] of pages.entries()) {
      if (page.start < to && page.start + page.count > from) fetchAgain(page);
      else if (Math.abs(n - here) > keptPages / 2) page.items = null;
    }
    if (to + ahead >= total) more();
  }

  async function more() {
    if (!next || asking || total >= mostLines) return;
    asking = true;
    const cursor = next;
    try {
      const page = await load(cursor);
      pages.push({ cursor, items: page[of], start: total, count: page[of].length });
      total += page[of].length;
      next = page.next;
      say(page);
      asking = false;
      tell();
      lines.resize(total);
    } catch (error) { // it is asked for again when the list is moved
      foot.replaceChildren(notice("error", error.message));
      setTimeout(() => (asking = false), 1000);
    }
  }

  async function fetchAgain(page) {
    if (page.items || page.asking) return;
    page.asking = true;
    const again = await load(page.cursor).catch(() => null);
    page.asking = false;
    if (!again) return;
    page.items = again[of];
    lines.fresh(page.start, page.start + page.count);
  }

  tell();
  lines.resize(total);
  return el("div", {}, remarks, grid, foot);
}
