// The queues of jobs, and what is in them: what waits, what is done by whom, what has failed.
import { ask, count, el, href, time } from "./dom.js";
import { leftOut } from "./checks.js";
import { tenantPicker } from "./records.js";

export async function jobs({ box, parameters, current }) {
  const all = await ask("tenants");
  if (!current()) return;
  box.append(el("h1", {}, "Jobs"));
  if (!all.tenants.length) {
    box.append(leftOut(all), el("p", { class: "quiet empty" }, "There are no tenants here."));
    return;
  }
  const tenant = parameters.tenant ?? all.tenants[0];
  const { queue, state, cursor } = parameters;
  const doc = await ask("jobs", queue ? { tenant, queue, state, cursor, limit: 50 } : { tenant });
  if (!current()) return;
  const some = doc.queues.filter((q) => q.states.length);
  const none = doc.queues.filter((q) => !q.states.length).map((q) => q.queue);
  box.append(tenantPicker(all, tenant, (chosen) => href("jobs", { tenant: chosen })),
    el("p", { class: "quiet" }, "As the store has them. A daemon does those of its own queues within a second, unless --job-workers-off leaves them to others."), leftOut(doc),
    ...some.flatMap((q) => [el("h2", {}, q.queue), ...q.states.map((s) => group(tenant, q.queue, s, queue !== undefined))]));
  if (none.length) box.append(el("p", { class: "quiet" }, queue ? "No job is left here." : `No job is in ${none.join(", ")}.`));
  if (queue) box.append(el("div", { class: "pager" }, el("a", { href: href("jobs", { tenant }) }, "⇤ all queues")));
}

// group is the jobs of a queue in a state, in their order.
const group = (tenant, queue, s, alone) => el("section", {},
  el("h3", {}, s.state, " ", el("small", {}, count(s.jobs.length) + (s.next ? "+" : ""))),
  el("div", { class: "scroll" }, el("table", { class: "rows" },
    el("thead", {}, el("tr", {}, ["Job", when[s.state] ?? "Due", "Payload"].map((t) => el("th", {}, t)), el("th", { class: "number" }, "Attempts"))),
    el("tbody", {}, s.jobs.map((j) => el("tr", {},
      el("td", { class: "type" }, j.id, j.failure && el("div", { class: "quiet" }, `failed: ${j.failure}`)),
      el("td", {}, time(j.until ?? j.due), s.state === "leased" && el("div", { class: "quiet" }, `by ${j.worker}`)),
      el("td", {}, el("code", {}, j.payload)),
      el("td", { class: "number" }, `${j.attempts} of ${j.max_attempts}`)))))),
  s.next && el("div", { class: "pager" },
    el("a", { class: "next", href: href("jobs", { tenant, queue, state: s.state, cursor: alone ? s.next : undefined }) }, alone ? "next page →" : "all of them →")));

// when is what the time of a job is, by its state.
const when = { ready: "Due since", leased: "Leased until", dead: "Dead since" };
