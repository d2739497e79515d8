package view

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// newLong returns a sample with a context of so many deltas, and so many rows of Generic.
func newLong(t *testing.T, deltas, rows int) *sample {
	s := &sample{store: mem.New(), context: idNamed("a long context")}
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	contexts, err := dag.Open(s.store, dag.Options{Node: codec.NodeID{Hi: 7}})
	require.NoError(t, err)
	defer func() { require.NoError(t, contexts.Close()) }()
	require.NoError(t, contexts.CreateContext(s.context, codec.ApplicationMeta{}))
	for i := range deltas {
		_, root, err := contexts.Heads(s.context)
		require.NoError(t, err)
		done, err := contexts.Commit(t.Context(), dag.Commit{Context: s.context, ReadRoot: root, Actions: []codec.Action{codec.Put(fmt.Appendf(nil, "key/%d", i%50), []byte("v"))}})
		require.NoError(t, err)
		s.applied = append(s.applied, done.Delta)
	}
	for i := 0; i < rows; {
		s.put(t, func(b *engine.Batch) {
			for ; i < rows && b.Len() < 10_000; i++ {
				b.Put(column.Generic, binary.BigEndian.AppendUint32([]byte("stoa.long.rows\x00\x00"), uint32(i)), fmt.Appendf(nil, "value %d", i))
			}
		})
	}
	return s
}

// TestLongListsInChromium scrolls through more deltas and rows than could have elements, and
// goes through them by the keyboard. STOA_VIEW_ROWS sets how many rows, and how fast it was is
// logged.
func TestLongListsInChromium(t *testing.T) {
	b := openTab(t)
	rows, deltas := 20_000, 10_000
	if n, err := strconv.Atoi(os.Getenv("STOA_VIEW_ROWS")); err == nil {
		rows = n
	}
	sample := newLong(t, deltas, rows)
	b.size(1280, 860, false)
	b.visit(sample.served(t))

	b.show("#/rows?column=Generic&prefix=" + fmt.Sprintf("%x", "stoa.long"))
	b.await(`document.querySelectorAll(".tbody .tr").length > 9`)
	t.Log("rows:", b.scrolled(`document.querySelector(".foot").innerText.includes("so far")`))
	require.Contains(t, eval[string](b, `document.querySelector(".foot").innerText`), fmt.Sprintf("%s rows", grouped(rows)))
	require.Less(t, eval[int](b, `document.querySelectorAll("*").length`), 1500, "of far lines there are no elements")
	require.Contains(t, eval[string](b, `document.querySelector(".tbody .tr:last-child").innerText`), "value "+strconv.Itoa(rows-1))
	eval[any](b, "scrollTo(0, 0), null") // pages that were forgotten are asked for again
	b.await(`document.querySelector('[data-line="0"]')?.innerText.includes("value 0")`)

	b.show("#/deltas?context=" + sample.context.String())
	b.await(`document.querySelectorAll(".line").length > 9`)
	t.Log("deltas:", b.scrolled(`Number(document.querySelector(".line").ariaSetSize) < `+strconv.Itoa(deltas)))
	require.Contains(t, eval[string](b, `document.querySelector(".legend").innerText`), grouped(deltas)+" nodes")
	require.Less(t, eval[int](b, `document.querySelectorAll("*").length`), 1500)
	require.Equal(t, eval[int](b, `document.querySelectorAll(".line").length`), eval[int](b, `document.querySelectorAll("svg .node").length`))
	require.Equal(t, sample.applied[0].String(), eval[string](b, `document.querySelector(".line:last-child code").title`))

	id := sample.applied[deltas/3].String()
	eval[any](b, `location.hash = "#/search?q=`+id[:20]+`", null`) // which leads on, since it is one
	b.await(`location.hash.startsWith("#/deltas?") && document.querySelector("#detail h2") !== null && document.activeElement?.querySelector?.("code")?.title === "` + id + `"`)
	b.picture("long-found")
	require.Empty(t, b.faults, strings.Join(b.faults, "\n"))
}

// scrolled scrolls to the end of the page, for as long as more is true there, and says how long
// its frames took.
func (b *tab) scrolled(more string) string {
	return eval[string](b, `(async () => {
		const frames = [];
		let last = performance.now();
		const began = last;
		const frame = () => new Promise((r) => requestAnimationFrame(() => { const now = performance.now(); frames.push(now - last); last = now; r(); }));
		for (let still = 0; still < 30;) {
			scrollBy(0, Math.max(3000, document.documentElement.scrollHeight / 200));
			await frame();
			const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
			still = end && !(`+more+`) ? still + 1 : 0;
			if (performance.now() - began > 150000) break;
		}
		frames.sort((a, b) => a - b);
		const at = (q) => frames[Math.floor(q * (frames.length - 1))].toFixed(1);
		return frames.length + " frames, p50 " + at(0.5) + " ms, p95 " + at(0.95) + " ms, p99 " + at(0.99) + " ms, max " + at(1) + " ms; " + ((last - began) / 1000).toFixed(1) + " s";
	})()`)
}

// grouped writes a number as the page does.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// TestTheKeyboardInChromium goes through the page without a mouse: a list is one tab stop.
func TestTheKeyboardInChromium(t *testing.T) {
	b := openTab(t)
	sample := newSample(t, 40)
	sample.addKeyValues(t)
	b.size(1280, 860, false)
	b.visit(sample.served(t))
	focus := func() string {
		return eval[string](b, `((e) => e.closest("nav") ? "nav " + e.hash : e.dataset?.line !== undefined ? "line " + e.dataset.line : e.id || e.name || e.className || e.tagName)(document.activeElement)`)
	}
	eval[any](b, `document.activeElement.blur(), null`)
	var stops []string
	for range 7 {
		b.key("Tab", 0)
		stops = append(stops, focus())
	}
	require.Equal(t, []string{"skip", "q", "reopen", "nav #/overview"}, stops[:4], "the views are one stop")
	require.NotContains(t, stops[4:], "nav #/findings")

	b.show("#/keyvalues?tenant=acme")
	eval[any](b, `document.querySelector(".search button").focus(), null`)
	b.key("Tab", 0)
	require.Equal(t, "line 0", focus())
	b.key("ArrowDown", 0)
	require.Equal(t, "line 1", focus())
	b.key("End", 0)
	require.Equal(t, "line 2", focus())
	b.key("Enter", 13)
	b.await(`document.querySelector("#detail h2")?.innerText === "session/ann"`)
	b.key("Escape", 0)
	require.Equal(t, "line 2", focus(), "where it was")
	b.key("Tab", 0)
	require.NotContains(t, focus(), "line")

	b.show("#/deltas?context=" + sample.context.String())
	eval[any](b, `document.querySelector("[name=find]").focus(), null`)
	eval[any](b, `((f) => { f.value = "counter/7;"; f.dispatchEvent(new Event("input")); f.form.requestSubmit(); })(document.querySelector("[name=find]")), null`)
	require.Contains(t, eval[string](b, `document.activeElement.innerText`), "put counter/7;")
	require.Contains(t, eval[string](b, `document.body.innerText`), "1 match")
	b.key("Home", 0)
	require.Equal(t, "line 0", focus())
	b.key("PageDown", 0)
	require.Greater(t, eval[int](b, `Number(document.activeElement.dataset.line)`), 10)

	b.key("/", 191)
	require.Equal(t, "q", focus())
	b.show("#/groups")
	eval[any](b, `document.querySelector('.group[tabindex="0"]').focus(), null`)
	b.key("ArrowDown", 0)
	b.key(" ", 32)
	b.await(`document.querySelector("#detail h2") !== null`)
	require.Empty(t, b.faults, strings.Join(b.faults, "\n"))
}

// key presses a key.
func (b *tab) key(name string, code int) {
	codes := map[string]int{"Tab": 9, "ArrowDown": 40, "Home": 36, "End": 35, "PageDown": 34, "Escape": 27}
	if code == 0 {
		code = codes[name]
	}
	press := map[string]any{"type": "rawKeyDown", "key": name, "windowsVirtualKeyCode": code}
	if code == 13 {
		press["type"], press["text"] = "keyDown", "\r"
	}
	b.call("Input.dispatchKeyEvent", press, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "windowsVirtualKeyCode": code}, nil)
}

// TestADaemonIsFollowedInChromium has the page follow a daemon: what is new comes by itself.
func TestADaemonIsFollowedInChromium(t *testing.T) {
	b := openTab(t)
	sample := newSample(t, 4)
	contexts, err := dag.Open(sample.store, dag.Options{Node: codec.NodeID{Hi: 9}})
	require.NoError(t, err)
	defer func() { require.NoError(t, contexts.Close()) }()
	b.size(1280, 860, false)
	b.visit(sample.throughDaemon(t))
	eval[any](b, `document.getElementById("live").click(), null`)
	b.await(`document.querySelector(".doing")?.innerText.includes("/s")`)
	b.picture("live-overview")
	b.accessible("live")
	b.show("#/deltas?context=" + sample.context.String())
	_, root, err := contexts.Heads(sample.context)
	require.NoError(t, err)
	_, err = contexts.Commit(context.Background(), dag.Commit{Context: sample.context, ReadRoot: root, Actions: []codec.Action{codec.Put([]byte("just now"), nil)}})
	require.NoError(t, err)
	b.await(`document.body.innerText.includes("put just now")`)

	// Who reads something is left alone, and told.
	eval[any](b, `document.querySelector(".line").focus(), null`)
	sample.put(t, func(batch *engine.Batch) {
		engine.Put(batch, keys.GroupAlias{Group: sample.child}, codec.AliasName("renamed"))
	})
	b.await(`document.getElementById("behind").innerText.includes("change")`)
	b.picture("live-deltas")
	eval[any](b, `document.activeElement.blur(), null`)
	b.show("#/groups")
	b.await(`document.querySelector(".tree").textContent.includes("renamed")`)
	eval[any](b, `document.getElementById("live").click(), null`)
	b.show("#/overview")
	b.await(`document.querySelector(".doing") === null`)
	require.Empty(t, b.faults, strings.Join(b.faults, "\n"))
}
