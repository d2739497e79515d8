// What verify finds.
import { ask, count, counted, el, href, notice } from "./dom.js";
import { watch } from "./checks.js";
import { progress } from "./overview.js";

export async function findings({ box, store, parameters, current }) {
  const full = parameters.full === "1" ? "1" : "0";
  const body = el("div");
  box.append(el("h1", {}, "Findings"), el("div", { class: "chips", role: "group", "aria-label": "How much is checked" },
    el("a", { href: href("findings"), "aria-current": full === "0" && "true" }, "fast"),
    el("a", { href: href("findings", { full: "1" }), "aria-current": full === "1" && "true" }, "full")),
  el("p", { class: "quiet" }, full === "1"
    ? "Every check: also what rows say of each other, and whether content hashes to its id."
    : "That every key and value parses, sequences have no gaps, heads are there, and blobs have their chunks."), body);
  let job = await ask("findings", { full });
  if (job.state === "idle" || job.state === "failed") {
    await new Promise((resolve) => {
      body.replaceChildren(job.error ? notice("error", job.error) : full === "0" && store.unchecked ? notice("info", store.unchecked) : "",
        el("button", { class: "primary", id: "start", onclick: resolve }, `Verify ${full === "1" ? "everything" : "now"}`));
      document.body.dataset.ready = "findings";
    });
    job = await ask("findings", { full, start: "1" });
    if (full === "0") watch();
  }
  for (; current(); job = await ask("findings", { full })) {
    if (job.state === "failed") throw new Error(job.error);
    if (job.state === "done") {
      body.replaceChildren(...verdict(job));
      return;
    }
    body.replaceChildren(progress("Reading every row", job), ...listed(job.findings ?? []));
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

function verdict(job) {
  const v = job.verdict;
  const found = v.findings
    ? notice("error", `${counted(v.findings, "finding")} in ${counted(v.rows, "row")}`)
    : notice("good", `Nothing is wrong in ${counted(v.rows, "row")}.`);
  return [found, ...(v.notes ?? []).map((n) => notice("info", n)), codes(v.codes), ...listed(job.findings ?? [], v.findings)];
}

const codes = (all) => el("div", { class: "chips small" }, Object.entries(all).map(([code, n]) => el("span", {}, code, " ", el("b", {}, count(n)))));

function listed(list, all = list.length) {
  if (!list.length) return [];
  const table = el("div", { class: "scroll" }, el("table", { class: "rows findings" },
    el("thead", {}, el("tr", {}, el("th", { class: "type" }, "Code"), el("th", {}, "Where"), el("th", {}, "Reason"))),
    el("tbody", {}, list.map((f) => el("tr", {},
      el("td", { class: "type" }, f.code),
      el("td", {}, f.column ? el("a", { href: href("rows", { column: f.column, prefix: /^[0-9a-f]+$/.test(f.key ?? "") ? f.key : "" }) }, f.column) : "the store", " ",
        el("code", { title: f.key ?? "" }, f.key ?? "")),
      el("td", { class: "reason" }, f.reason))))));
  return all > list.length ? [table, notice("info", `The first ${count(list.length)} of ${count(all)}.`)] : [table];
}
