// The blobs, and what names them.
import { ask, count, counted, el, href, notice, size } from "./dom.js";
import { leftOut } from "./checks.js";
import { asked, showDetail } from "./detail.js";
import { endless } from "./endless.js";
import { content } from "./keyvalues.js";
import { short, whole } from "./names.js";

export async function blobs({ box, parameters, current }) {
  const table = await endless({
    label: "Blobs", empty: "There are no blobs here.",
    load: (after) => ask("blobs", { after, limit: 200 }),
    of: "blobs",
    columns: [
      { head: "SHA-256", class: "key", cell: (b) => el("code", {}, b.id) },
      { head: "Chunks", class: "number", cell: (b) => count(b.chunks) },
      { head: "Size", class: "number", cell: (b) => size(b.size) },
    ],
    open: (b) => show(b.id),
  });
  if (!current()) return;
  box.append(el("h1", {}, "Blobs"), table);
  if (parameters.id) await show(parameters.id);
}

async function show(id) {
  const b = await asked("A blob", "blob", { id });
  if (!b) return;
  const named = (name, list, to) => [el("dt", {}, name), el("dd", {}, list.map((one) => el("div", {}, el("a", { href: to(one) }, short(one)))))];
  showDetail("A blob", leftOut(b), b.fault && notice("error", b.fault), el("dl", { class: "about" },
    el("dt", {}, "id"), el("dd", {}, whole(b.id)),
    el("dt", {}, "size"), el("dd", {}, `${size(b.size)} in ${counted(b.chunks, "chunk")}`),
    b.contexts && named("attached to", b.contexts, (context) => href("deltas", { context })),
    b.applications && named("named by applications", b.applications, (prefix) => href("rows", { column: "Application", prefix })),
    !b.contexts && !b.applications && [el("dt", {}, "named by"), el("dd", {}, el("span", { class: "none" }, "no application, and no context that was looked at"))]),
  b.begins && content(b.begins));
}
