// The fast checks, which begin by themselves on small stores: what they have found, and
// where it shows.
import { ask, count, counted, el, href, notice } from "./dom.js";

// Which views show rows of a column, beside Rows.
const shownIn = { Meta: ["deltas"], Delta: ["deltas"], Group: ["governance", "groups"] };

let job = { state: "idle" };
let turn = 0;
const waiting = new Set();

// whenChecked calls update at every change, for as long as current says so.
export function whenChecked(current, update) {
  const call = () => (current() ? update() : waiting.delete(call));
  waiting.add(call);
}

function learn(news) {
  job = news;
  badges();
  for (const call of [...waiting]) call();
}

// watch follows the checks of the store that was opened.
export async function watch() {
  const mine = ++turn;
  learn({ state: "idle" });
  for (let wait = 100; ; wait = Math.min(2 * wait, 2000)) {
    const news = await ask("findings", { full: "0" }).catch((error) => ({ state: "failed", error: error.message }));
    if (mine !== turn) return;
    learn(news);
    if (news.state !== "running") return;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

// badge is a mark with a number; nothing where it is 0.
export const badge = (n, noun) => n > 0 && el("b", { class: "badge", title: counted(n, noun), "aria-label": counted(n, noun) }, count(n));

// found is how many findings there are.
const found = () => job.verdict?.findings ?? (job.findings ?? []).length;

// about is how many of the findings are of a column (empty: any) and of keys that fit:
// that begin so, in hex.
export const about = (column, start, fits = (key) => key.startsWith(start)) =>
  (job.findings ?? []).filter((f) => (!column || f.column === column) && fits(f.key ?? "")).length;

function badges() {
  const of = { findings: found() };
  for (const [column, n] of Object.entries(job.columns ?? {})) {
    for (const view of ["rows", ...(shownIn[column] ?? [])]) of[view] = (of[view] ?? 0) + n;
  }
  for (const a of document.querySelectorAll("nav a")) {
    a.querySelector(".badge")?.remove();
    const mark = badge(of[a.hash.slice(2)] ?? 0, "finding");
    if (mark) a.append(" ", mark);
  }
}

// summary says in a line what the fast checks have come to.
export function summary(unchecked) {
  const see = (text) => el("a", { href: href("findings") }, text);
  if (job.state === "running") return notice("info", "The fast checks are under way…");
  if (job.state === "failed") return notice("warning", `The fast checks did not end: ${job.error}. `, see("Findings"));
  if (job.state !== "done") return unchecked ? notice("info", `${unchecked} `, see("Verify now")) : "";
  const said = job.verdict.notes ?? [];
  const notes = said.length > 0 && notice("info", ...said.map((n) => el("div", {}, n)));
  if (!found()) return el("div", {}, notice("good", `The fast checks found nothing wrong in ${counted(job.verdict.rows, "row")}.`), notes);
  const where = Object.entries(job.columns ?? {}).map(([column, n]) => `${column} ${count(n)}`).join(", ");
  return el("div", {}, notice("error", `The fast checks found damage: ${counted(found(), "finding")}${where ? ` (${where})` : ""}. `, see("See what")), notes);
}

// leftOut says what a list goes on behind, since it cannot be read.
export function leftOut(doc) {
  if (!doc.left_out) return "";
  return el("details", { class: "notice error left" },
    el("summary", {}, `${counted(doc.left_out, "place")} could not be read, and ${doc.left_out === 1 ? "is" : "are"} left out here`),
    el("ul", {}, (doc.left_out_places ?? []).map((f) => el("li", {}, `${f.column ?? ""} `, el("code", {}, f.key ?? ""), ` ${f.reason}`))),
    doc.left_out > (doc.left_out_places ?? []).length && el("p", {}, "and more"));
}
