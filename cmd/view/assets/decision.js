// A decision as a tree: may somebody do something, and why.
import { ask, el, href, notice } from "./dom.js";
import { leftOut } from "./checks.js";
import { tenantPicker } from "./records.js";

export async function decision({ box, parameters, current }) {
  const all = await ask("tenants");
  if (!current()) return;
  box.append(el("h1", {}, "Decision"));
  if (!all.tenants.length) {
    box.append(leftOut(all), el("p", { class: "quiet empty" }, "There are no tenants here."));
    return;
  }
  const tenant = parameters.tenant ?? all.tenants[0];
  box.append(tenantPicker(all, tenant, (chosen) => href("decision", { ...parameters, tenant: chosen })), form(parameters, tenant));
  if (!parameters.agent && !parameters.action) {
    box.append(leftOut(all), el("p", { class: "quiet" }, "It asks what is stored now, uses nothing up and writes nothing."));
    return;
  }
  const answer = await ask("decision", { ...parameters, tenant });
  if (!current()) return;
  const d = answer.decision;
  box.append(notice(d.allowed ? "good" : d.result === "denied" ? "error" : "warning", `${results[d.result] ?? d.result}: ${d.reason}`), leftOut(answer),
    el("ul", { class: "steps" }, answer.steps.map(node)));
}

const results = { allowed: "Allowed", denied: "Denied", pending_approval: "Wants approval", transformed: "Allowed, transformed" };

function form(parameters, tenant) {
  const field = (name, placeholder) => el("input", { name, value: parameters[name] ?? "", placeholder, "aria-label": placeholder, spellcheck: "false", autocomplete: "off" });
  const [agent, action, context] = [field("agent", "agent, as cece.governor.v1"), field("action", "action, as email.send"), field("context", "context, as JSON")];
  return el("form", {
    class: "search",
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = href("decision", { tenant, agent: agent.value.trim(), action: action.value.trim(), context: context.value.trim() });
    },
  }, agent, action, context, el("button", {}, "Ask"));
}

// node is one thing that was looked at, with its parts below it.
function node(n) {
  return el("li", { class: n.decides ? "decides" : "" },
    el("b", {}, n.kind), n.id && [" ", el("code", {}, n.id)], " ", el("span", { class: "tag" }, n.verdict),
    n.text && el("div", { class: "quiet" }, n.text),
    n.parts?.length && el("ul", {}, n.parts.map(node)));
}
