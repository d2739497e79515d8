// One tab stop for a list: the arrow keys, Home and End move within it.

const back = ["ArrowUp", "ArrowLeft"];
const on = ["ArrowDown", "ArrowRight"];

// roving makes what is found in list by a selector one tab stop: the one that is current,
// else the first. Enter and Space press what is not a link or a button.
export function roving(list, selector) {
  const all = () => [...list.querySelectorAll(selector)];
  const make = (one) => {
    for (const e of all()) e.setAttribute("tabindex", e === one ? "0" : "-1");
  };
  const items = all();
  make(items.find((e) => e.getAttribute("aria-current")) ?? items[0]);
  list.addEventListener("focusin", (event) => {
    const item = event.target.closest(selector);
    if (item) make(item);
  });
  list.addEventListener("keydown", (event) => {
    const items = all();
    const at = items.indexOf(event.target.closest(selector));
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = back.includes(event.key) ? at - 1 : on.includes(event.key) ? at + 1 : { Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined) {
      items[Math.max(0, Math.min(to, items.length - 1))].focus();
      event.preventDefault();
    } else if ((event.key === "Enter" || event.key === " ") && !event.target.matches("a, button")) {
      event.target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      event.preventDefault();
    }
  });
  return list;
}
