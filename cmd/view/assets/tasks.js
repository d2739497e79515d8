// Tasks as a board, by their states, and who is asked to approve them.
import { ask, count, el, href, time } from "./dom.js";
import { leftOut } from "./checks.js";
import { show, tenantPicker } from "./records.js";
import { roving } from "./roving.js";

export async function tasks({ box, parameters, current }) {
  const all = await ask("tenants");
  if (!current()) return;
  box.append(el("h1", {}, "Tasks"));
  if (!all.tenants.length) {
    box.append(leftOut(all), el("p", { class: "quiet empty" }, "There are no tenants here."));
    return;
  }
  const tenant = parameters.tenant ?? all.tenants[0];
  const [doc, queue] = await Promise.all([ask("board", { tenant }), ask("queue", { tenant, user: parameters.user, cursor: parameters.cursor })]);
  if (!current()) return;
  box.append(tenantPicker(all, tenant, (chosen) => href("tasks", { tenant: chosen })), leftOut(doc),
    el("div", { class: "scroll board" }, doc.states.map((s) => column(s, tenant))),
    el("h2", {}, "Approvals ", el("small", {}, parameters.user ? `what ${parameters.user} is asked, the most urgent first` : "what waits for an answer, the first due first")),
    userForm(parameters.user, tenant),
    queue.approvals.length ? answers(queue.approvals, tenant) : el("p", { class: "quiet" }, "Nothing waits for an answer."), leftOut(queue),
    el("div", { class: "pager" },
      parameters.cursor && el("a", { href: href("tasks", { tenant, user: parameters.user }) }, "⇤ first page"),
      queue.next && el("a", { class: "next", href: href("tasks", { tenant, user: parameters.user, cursor: queue.next }) }, "next page →")));
}

const column = (s, tenant) => roving(el("section", { class: "state", "aria-label": s.state },
  el("h2", {}, s.state.toLowerCase(), " ", el("small", {}, count(s.tasks.length) + (s.more ? "+" : ""))),
  s.tasks.map((t) => card(t, tenant))), ".card");

// opens makes an element of a list show a record.
const opens = (tenant, collection, id) => ({ onclick: () => show({ tenant, collection }, id) });

function card(t, tenant) {
  const f = t.fields;
  return el("div", { class: "card", role: "button", ...opens(tenant, "task", t.id) },
    el("b", {}, t.id),
    f.description && el("div", {}, f.description),
    el("div", { class: "quiet" }, [f.type, f.author && `by ${f.author}`, f.agent && `applied by ${f.agent}`].filter(Boolean).join(" · ")),
    el("div", {},
      f.risk && el("span", { class: `tag ${f.risk.toLowerCase()}` }, f.risk), " ",
      f.result && el("span", { class: `tag ${f.result}` }, f.result + (f.retries ? `, ${f.retries} retried` : "")), " ",
      t.answers && el("span", { class: "tag" }, `${t.answers.approved_count} of ${t.answers.required_count} approve`)));
}

function userForm(user, tenant) {
  const name = el("input", { name: "user", value: user ?? "", placeholder: "whom it asks: nothing for all", "aria-label": "user", spellcheck: "false", autocomplete: "off" });
  return el("form", {
    class: "search",
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = href("tasks", { tenant, user: name.value.trim() });
    },
  }, name, el("button", {}, "Show"));
}

const answers = (list, tenant) => roving(el("div", { class: "scroll" }, el("table", { class: "rows" },
  el("thead", {}, el("tr", {}, ["Approval", "Task", "Asked", "Due"].map((t) => el("th", {}, t)), el("th", { class: "number" }, "Score"))),
  el("tbody", {}, list.map((a) => {
    const d = a.document;
    return el("tr", opens(tenant, "approval_request", a.id),
      el("td", { class: "type" }, a.id), el("td", {}, d.task_id),
      el("td", {}, d.delegated_to ?? d.reviewer_id, d.delegated_to && el("span", { class: "quiet" }, ` for ${d.reviewer_id}`)),
      el("td", {}, time(d.due_at), d.overdue && [" ", el("span", { class: "tag high" }, "overdue")]),
      el("td", { class: "number" }, count(a.score)));
  })))), "tbody tr");
