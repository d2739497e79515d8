// The shell: which view is shown, and what it is shown of. The address after #
// says it all, so that the browser's history and bookmarks work.
import { ask, counted, el, href, notice } from "./dom.js";
import { watch } from "./checks.js";
import { closeDetail, detailed } from "./detail.js";
import { follow, stop } from "./live.js";
import { learnNames } from "./names.js";
import { roving } from "./roving.js";
import { overview } from "./overview.js";
import { rows } from "./rows.js";
import { blobs } from "./blobs.js";
import { deltas, governance } from "./graphs.js";
import { groups } from "./groups.js";
import { keyvalues } from "./keyvalues.js";
import { records } from "./records.js";
import { tasks } from "./tasks.js";
import { locks } from "./locks.js";
import { jobs } from "./jobs.js";
import { buckets } from "./buckets.js";
import { decision } from "./decision.js";
import { findings } from "./findings.js";
import { search } from "./search.js";

const views = { overview, findings, rows, blobs, deltas, governance, groups, keyvalues, buckets, records, tasks, locks, jobs, decision, search };
const main = document.getElementById("main");
const nav = document.getElementById("nav");
const menu = document.getElementById("menu");
const live = document.getElementById("live");
const field = document.querySelector("#search input");
let turn = 0; // which showing is the newest: older ones stop

// show shows the view that the address names; in its place, where it is shown already.
async function show({ again = false } = {}) {
  const mine = ++turn;
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const name = path in views ? path : "overview";
  for (const a of nav.querySelectorAll("a")) {
    if (a.hash === `#/${name}`) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  if (name !== "search") field.value = "";
  document.title = `${name} · stoa view`;
  openMenu(false);
  const box = el("div", { class: "view", "data-view": name });
  const context = {
    box,
    store,
    parameters: Object.fromEntries(new URLSearchParams(query)),
    current: () => mine === turn,
  };
  if (!again) {
    closeDetail();
    main.replaceChildren(box);
    scrollTo(0, 0);
  }
  document.body.dataset.ready = "";
  try {
    await views[name](context);
  } catch (error) {
    if (context.current()) box.append(notice("error", error.message));
  }
  if (!context.current()) return;
  for (const list of box.querySelectorAll(".chips")) roving(list, "a");
  if (again) {
    const at = scrollY;
    main.replaceChildren(box);
    scrollTo(0, at);
    dispatchEvent(new Event("resize")); // lists learn that they are in the window
  }
  for (const e of box.querySelectorAll(".scroll")) { // the keyboard scrolls what nothing in it takes the focus of
    if (e.scrollWidth > e.clientWidth && !e.querySelector("a, button, [tabindex]")) e.tabIndex = 0;
  }
  document.body.dataset.ready = name;
}

let store;
let shown; // the sequence of the state that is shown

async function open() {
  try {
    [store] = await Promise.all([ask("store"), learnNames()]);
  } catch (error) {
    main.replaceChildren(notice("error", error.message));
    return;
  }
  shown = store.shown;
  document.getElementById("where").textContent = store.store.where;
  document.getElementById("where").title = store.store.where;
  document.getElementById("how").textContent = store.store.how;
  document.getElementById("follows").hidden = store.store.how !== "daemon";
  watch();
  await show();
}

// changed shows the state of now, unless somebody reads what is there.
async function changed(look) {
  const since = Number(look.sequence) - Number(shown);
  const behind = document.getElementById("behind");
  behind.textContent = since > 0 ? ` ${counted(since, "change")} more` : "";
  const busy = detailed() || main.contains(document.activeElement) && document.activeElement !== main || document.body.dataset.ready === "" || getSelection().toString() !== "";
  if (since <= 0 || busy || ["overview", "findings", "search"].includes(document.body.dataset.ready)) return;
  await ask("reopen", { keep: "1" }, "POST");
  const [now] = await Promise.all([ask("store"), learnNames()]);
  if (now.shown === shown) return; // rows are being counted or checked
  store = now;
  shown = now.shown;
  behind.textContent = "";
  await show({ again: true });
}

live.addEventListener("change", () => {
  document.getElementById("behind").textContent = "";
  if (live.checked) follow((look) => changed(look).catch(() => {})); // the next look says it
  else stop();
});

function openMenu(is) {
  document.body.classList.toggle("menu", is);
  menu.setAttribute("aria-expanded", String(is));
}

menu.addEventListener("click", () => openMenu(menu.getAttribute("aria-expanded") !== "true"));
document.getElementById("skip").addEventListener("click", () => main.focus());
roving(nav, "a");

document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const to = href("search", { q: field.value.trim() });
  if (location.hash === to) show();
  else location.hash = to;
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  field.focus();
  field.select();
});

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
addEventListener("hashchange", () => show());
open();
