package view

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// TestThePageInChromium goes through the page as a reader does, at three widths,
// light and dark: nothing may stick out, nor the console complain. `make
// test-view` runs it; a browser reaches no Unix socket, so it listens on loopback.
func TestThePageInChromium(t *testing.T) {
	b := openTab(t)
	sample := newSample(t, 40)
	sample.addRecords(t)
	sample.addTasks(t)
	live := sample.addLocks(t)
	sample.addJobs(t)
	sample.addBuckets(t)
	sample.addKeyValues(t)
	sample.addBlobs(t)
	sample.put(t, func(batch *engine.Batch) {
		batch.Put(column.Alias, []byte{9, 9}, []byte("what is this"))
		batch.Put(column.Meta, idNamedBytes("damaged"), []byte("no description"))
	})
	b.size(1280, 860, false)
	b.visit(sample.servedWith(t, live))
	deltas := "#/deltas?context=" + sample.context.String()
	views := []struct {
		name, hash, says, act string // act: a script that is run first
		until                 string
	}{
		{"overview", "#/overview", "The fast checks found damage: 2 findings", "", `document.querySelector('nav a[href="#/findings"] .badge')?.textContent === "2"`},
		{"rows", "#/rows?column=Group&prefix=21", "grace", "", ""},
		{"keyvalues", "#/keyvalues?tenant=acme", "limit", "", ""},
		{"keyvalue", "#/keyvalues?tenant=acme", "revision", `document.querySelector(".tbody .tr").click()`, `!document.querySelector("#detail").hidden`},
		{"blobs", "#/blobs", "2 rows", "", ""},
		{"blob", "#/blobs?id=" + sample.blob.String(), "attached to", "", `!document.querySelector("#detail").hidden`},
		{"search", "#/search?q=s", "group", "", `document.querySelectorAll(".hits li").length > 2`},
		{"row", "#/rows?column=Delta", "ContextDagDelta", `document.querySelector(".tbody .tr").click()`, `document.querySelector("#detail dl") !== null`},
		{"secrets", "#/rows?column=Identity", "redacted:", "", ""},
		{"deltas", deltas, "waits for others", "", ""},
		{"delta", deltas, "counter", `document.querySelectorAll(".line")[4].click()`, `document.querySelector("#detail h3") !== null`},
		{"governance", "#/governance", "namespace created", "", ""},
		{"groups", "#/groups", "Kalliope", "", ""},
		{"group", "#/groups?id=" + sample.child.String(), "shared notes", "", `!document.querySelector("#detail").hidden`},
		{"records", "#/records?tenant=acme&collection=delegation", "del-20251130-abc123", "", ""},
		{"record", "#/records?tenant=acme", "Mail, sent", `document.querySelector(".tbody .tr").click()`, `document.querySelector("#detail details") !== null`},
		{"tasks", "#/tasks?tenant=acme", "1 of 2 approve", "", `document.querySelectorAll(".card").length === 4`},
		{"task", "#/tasks?tenant=acme&user=ann", "the most urgent first", `document.querySelector(".card").click()`, `!document.querySelector("#detail").hidden`},
		{"locks", "#/locks?tenant=acme", "resource:database:main", "", `document.querySelectorAll(".waits rect").length === 3 && document.querySelectorAll(".waits path").length === 2`},
		{"jobs", "#/jobs?tenant=acme", "failed: the disk <b>is</b> full", "", `document.querySelectorAll("tbody tr").length === 23`},
		{"some jobs", "#/jobs?tenant=acme&queue=archive&state=ready", "⇤ all queues", "", `document.querySelectorAll("tbody tr").length === 21`},
		{"buckets", "#/buckets?tenant=acme", "a contract waits", "", `document.querySelectorAll("tbody tr").length === 3`},
		{"bucket", "#/buckets?tenant=acme&bucket=svc_activity_entries", "deleted", "", `document.querySelectorAll(".tbody .tr").length > 9`},
		{"history", "#/buckets?tenant=acme&bucket=svc_activity_entries&prefix=many", "revision 4,", `document.querySelector(".tbody .tr").click()`, `document.querySelectorAll("#detail details").length === 2`},
		{"contract", "#/buckets?tenant=acme&service=activity", "1 of 59 values of svc_activity_entries would be refused", "", `document.querySelectorAll(".diff section").length === 4`},
		{"ask", "#/decision", "acme", "", ""},
		{"decision", "#/decision?tenant=acme&agent=cece.governor.v1&action=email.send&context=%7B%22recipients%22%3A30%7D", "too many at once", "",
			`document.querySelectorAll(".decides").length === 3`},
		{"findings", "#/findings", "2 findings", `document.querySelector("#start")?.click()`, `document.querySelector("tbody") !== null`},
	}
	for _, look := range []struct {
		name          string
		width, height int
		dark          bool
	}{{"light", 1280, 860, false}, {"dark", 1280, 860, true}, {"narrow", 390, 844, false}} {
		b.size(look.width, look.height, look.dark)
		for _, v := range views {
			b.show("#/overview")
			b.show(v.hash)
			if v.act != "" {
				eval[any](b, v.act+", null")
			}
			if v.until != "" {
				b.await(v.until)
			}
			b.picture(look.name + "-" + v.name)
			text := eval[string](b, "document.body.innerText")
			require.Contains(t, text, v.says, "%s %s", look.name, v.name)
			require.NotRegexp(t, `undefined|\bnull\b|NaN|\[object`, text, "%s %s", look.name, v.name)
			for _, secret := range sample.secrets {
				require.NotContains(t, text, secret.Reveal())
			}
			require.Empty(t, eval[[]string](b, sticksOut), "%s %s: sticks out of the window", look.name, v.name)
			b.accessible(look.name + " " + v.name)
		}
	}
	// What a store says is text, and no markup.
	b.show("#/groups")
	require.True(t, eval[bool](b, `document.body.innerText.includes("<b>north</b>")||[...document.querySelectorAll("svg text")].some(e=>e.textContent.includes("<b>"))`))
	b.show(deltas)
	require.Equal(t, len(sample.applied)+2, eval[int](b, `Number(document.querySelector(".line").ariaSetSize)`))
	require.Equal(t, eval[int](b, `document.querySelectorAll(".line").length`), eval[int](b, `document.querySelectorAll("svg .node").length`))
	eval[any](b, `document.getElementById("reopen").click(), null`)
	b.await(`!document.getElementById("reopen").disabled && document.body.dataset.ready === "deltas"`)
	require.Empty(t, b.faults, strings.Join(b.faults, "\n"))
}

// TestDamageInChromium looks at a namespace whose keys are there, and in which rows are
// damaged: nothing is pressed.
func TestDamageInChromium(t *testing.T) {
	b := openTab(t)
	c := newCommons(t)
	ops := ask[Graph](t, c.served(t), "ops", "namespace", c.namespace.String()).Nodes
	op, err := hex.DecodeString(ops[slices.IndexFunc(ops, func(n Node) bool { return strings.HasPrefix(n.Label, "group alias set") })].At)
	require.NoError(t, err)
	member := append(append([]byte{keys.GroupMember{}.Slot().Tag}, c.kitchen[:]...), idNamedBytes("nobody")...)
	c.put(t, func(batch *engine.Batch) {
		batch.Put(column.Group, member, []byte{7})
		batch.Put(column.Blobs, []byte{1}, []byte("?"))
	})
	b.size(1280, 860, false)
	b.visit(c.holedAt(t, column.Group, op))
	for _, v := range []struct{ hash, says, until string }{
		{"#/overview", "The fast checks found damage", `document.querySelectorAll("nav .badge").length === 4 && document.querySelectorAll(".measured .badge").length === 2`},
		{"#/governance", "member added in home: member bob, role member", `document.querySelector(".line.damaged") !== null && document.querySelector(".left") !== null`},
		{"#/groups", "damaged", `document.querySelectorAll(".tree .bad").length === 1`},
		{"#/groups?id=" + c.kitchen.String(), "alice", `document.querySelector("#detail li")?.innerText.includes("admin")`},
		{"#/rows?column=Group", "1 place could not be read", `document.querySelectorAll(".tbody .tr").length > 5`},
	} {
		b.show("#/findings")
		b.show(v.hash)
		b.await(v.until)
		b.picture("damage-" + strings.NewReplacer("#/", "", "?", "-", "=", "-").Replace(v.hash))
		require.Contains(t, eval[string](b, "document.body.innerText"), v.says, v.hash)
		require.Empty(t, eval[[]string](b, sticksOut), "%s: sticks out of the window", v.hash)
	}
	b.show("#/governance")
	eval[any](b, `[...document.querySelectorAll(".line")].find((l) => l.innerText.includes("bob, name bob")).click(), null`)
	b.await(`document.querySelector("#detail")?.innerText.includes("What it does")`)
	b.picture("damage-op")
	require.Empty(t, b.faults, strings.Join(b.faults, "\n"))
}

// accessible has axe-core look at what the window shows.
func (b *tab) accessible(name string) {
	if b.axe == "" {
		return
	}
	for _, says := range eval[[]string](b, b.axe+`; axe.run(document, {resultTypes: ["violations"]}).then((r) =>
		r.violations.flatMap((v) => v.nodes.slice(0, 2).map((n) => v.id + ": " + n.html.slice(0, 140) + " " + (n.any[0]?.message ?? n.failureSummary).slice(0, 200))))`) {
		b.faults = append(b.faults, name+": "+says)
	}
}

// visit serves the page on loopback until the test ends, and goes there.
func (b *tab) visit(s *Server) {
	ln, root, err := Listen("127.0.0.1:0")
	require.NoError(b.t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	b.t.Cleanup(func() { stop(); require.NoError(b.t, <-done) })
	b.call("Page.navigate", map[string]any{"url": root + s.Path()}, nil)
	b.await(`document.body?.dataset.ready === "overview"`)
}

// sticksOut lists the elements that are wider than the window and not within one
// that scrolls by itself.
const sticksOut = `(() => {
  const out = document.documentElement.scrollWidth > innerWidth ? ["the page"] : [];
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest(".scroll, .lanes, .tr, .chips, svg, [hidden]") && !e.matches(".scroll, .lanes, .tr, .chips")) continue; // it scrolls or is cut
    const r = e.getBoundingClientRect();
    if (r.width > 0 && (r.right > innerWidth + 1 || r.left < -1)) out.push(e.tagName + "." + e.className + " " + r.right);
  }
  return out.slice(0, 5);
})()`

func idNamedBytes(name string) []byte {
	id := idNamed(name)
	return id[:]
}
