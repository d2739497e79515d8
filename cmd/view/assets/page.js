// The shell: which view is shown, and what it is shown of. The address after #
// says it all, so that the browser's history and bookmarks work.
import { ask, el, notice } from "./dom.js";
import { watch } from "./checks.js";
import { closeDetail } from "./detail.js";
import { overview } from "./overview.js";
import { rows } from "./rows.js";
import { deltas, governance } from "./graphs.js";
import { groups } from "./groups.js";
import { records } from "./records.js";
import { tasks } from "./tasks.js";
import { locks } from "./locks.js";
import { jobs } from "./jobs.js";
import { buckets } from "./buckets.js";
import { decision } from "./decision.js";
import { findings } from "./findings.js";

const views = { overview, rows, records, tasks, locks, jobs, buckets, decision, deltas, governance, groups, findings };
const main = document.getElementById("main");
let turn = 0; // which showing is the newest: older ones stop

async function show() {
  const mine = ++turn;
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const name = path in views ? path : "overview";
  for (const a of document.querySelectorAll("nav a")) {
    if (a.hash === `#/${name}`) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  document.title = `${name} · stoa view`;
  closeDetail();
  const box = el("div", { class: `view ${name}` });
  const context = {
    box,
    store,
    parameters: Object.fromEntries(new URLSearchParams(query)),
    current: () => mine === turn,
  };
  main.replaceChildren(box);
  document.body.dataset.ready = "";
  try {
    await views[name](context);
  } catch (error) {
    if (context.current()) box.append(notice("error", error.message));
  }
  if (context.current()) document.body.dataset.ready = name;
}

let store;

async function open() {
  try {
    store = await ask("store");
  } catch (error) {
    main.replaceChildren(notice("error", error.message));
    return;
  }
  document.getElementById("where").textContent = store.store.where;
  document.getElementById("where").title = store.store.where;
  document.getElementById("how").textContent = store.store.how;
  watch();
  await show();
}

document.getElementById("reopen").addEventListener("click", async (event) => {
  event.target.disabled = true;
  try {
    await ask("reopen", {}, "POST");
    await open();
  } catch (error) {
    main.replaceChildren(notice("error", error.message));
  } finally {
    event.target.disabled = false;
  }
});
addEventListener("hashchange", show);
open();
