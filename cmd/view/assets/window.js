// What is in the window of a long list, of which only that has elements.

const beyond = 8; // lines above and below that are there too
export const narrow = matchMedia("(max-width: 60rem)");

// lineHeight is how high a line of a list is: on a narrow page it has two rows.
export const lineHeight = (wide, high) => (narrow.matches ? high : wide);

// Lines keeps the elements of the lines that are in the window. of makes that of a line;
// seen is told which are there, after each change. There is one tab stop: the arrow keys,
// PageUp, PageDown, Home and End move within the list, Enter and Space choose a line.
export class Lines {
  constructor({ list, height, of, choose, seen = () => {}, focused = () => {} }) {
    Object.assign(this, { list, height, of, choose, seen, focused, count: 0, active: 0, drawn: new Map(), asked: 0 });
    const leave = new AbortController();
    const later = () => {
      if (!this.list.isConnected && this.shown) leave.abort();
      else this.soon();
    };
    for (const event of ["scroll", "resize"]) addEventListener(event, later, { signal: leave.signal, passive: true });
    list.addEventListener("keydown", (event) => this.pressed(event));
    list.addEventListener("focusin", (event) => this.activate(Number(event.target.closest("[data-line]")?.dataset.line)));
  }

  // soon draws before the next frame.
  soon() {
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  // resize says how many lines there are; again says that they are others.
  resize(count, again = false) {
    this.count = count;
    if (again) {
      for (const e of this.drawn.values()) e.remove();
      this.drawn.clear();
    }
    this.active = Math.max(0, Math.min(this.active, count - 1));
    this.draw();
    if (!this.shown) this.soon(); // where the window is, it learns once it is in the page
  }

  range() {
    const top = this.list.isConnected ? this.list.getBoundingClientRect().top : 0;
    const h = this.height();
    const first = Math.floor(-top / h) - beyond;
    const last = Math.ceil((innerHeight - top) / h) + beyond;
    return [Math.max(0, Math.min(first, this.count)), Math.max(0, Math.min(last, this.count))];
  }

  draw() {
    this.shown ||= this.list.isConnected;
    const h = this.height();
    this.list.style.height = `${this.count * h}px`;
    const [first, last] = this.range();
    for (const [i, e] of this.drawn) {
      if ((i < first || i >= last) && !e.contains(document.activeElement)) {
        e.remove();
        this.drawn.delete(i);
      }
    }
    let next = this.list.firstElementChild;
    for (let i = first; i < last; i++) {
      let e = this.drawn.get(i);
      while (next && Number(next.dataset.line) < i) next = next.nextElementSibling;
      if (!e) {
        e = this.of(i);
        e.dataset.line = i;
        e.tabIndex = i === this.active ? 0 : -1;
        this.drawn.set(i, e);
        this.list.insertBefore(e, next);
      }
      e.style.top = `${i * h}px`;
    }
    // What has the tab stop may be far away: the first line in the window has it meanwhile.
    const stop = this.drawn.has(this.active) ? this.active : first;
    for (const [i, e] of this.drawn) e.tabIndex = i === stop ? 0 : -1;
    this.seen(first, last);
  }

  // fresh draws the lines from one to another again.
  fresh(first, last) {
    let had;
    for (const [i, e] of this.drawn) {
      if (i < first || i >= last) continue;
      if (e.contains(document.activeElement)) had = i;
      e.remove();
      this.drawn.delete(i);
    }
    this.draw();
    this.drawn.get(had)?.focus({ preventScroll: true });
  }

  activate(i) {
    if (!(i >= 0)) return;
    for (const [j, e] of this.drawn) e.tabIndex = j === i ? 0 : -1;
    this.active = i;
    this.focused(i);
  }

  // go moves the focus to a line.
  go(i) {
    if (!this.count) return;
    const to = Math.max(0, Math.min(i, this.count - 1));
    const h = this.height();
    const top = this.list.getBoundingClientRect().top + to * h;
    const head = document.querySelector("header").getBoundingClientRect().bottom + h;
    if (top < head) scrollBy(0, top - head);
    else if (top + h > innerHeight - 8) scrollBy(0, top + h - innerHeight + 8);
    this.draw();
    this.activate(to);
    this.drawn.get(to)?.focus({ preventScroll: true });
  }

  pressed(event) {
    const at = Number(event.target.closest("[data-line]")?.dataset.line);
    if (!(at >= 0) || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("a, button, summary")) return;
    const page = Math.max(1, Math.floor(innerHeight / this.height()) - 3);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, PageUp: at - page, PageDown: at + page, Home: 0, End: this.count - 1 }[event.key];
    if (to !== undefined) this.go(to);
    else if (event.key === "Enter" || event.key === " ") this.choose?.(at);
    else return;
    event.preventDefault();
  }
}
