package content_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/namespace/content/contenttest"
	"github.com/stoadb/stoa/namespace/envelope"
)

var bg = context.Background()

func seedOf(name string) codec.Secret { return codec.Secret([]byte(fmt.Sprintf("%-32s", name))) }

func idOf(name string) codec.Identity { return group.IdentityOf(seedOf(name)) }

// node is one daemon.
type node struct {
	w       *world
	name    string // whose it is
	db      engine.Engine
	gov     *namespace.Store
	dag     *dag.Store
	content *content.Store
	opened  byte
}

// world is nodes of a namespace with one context.
type world struct {
	t       require.TestingT
	random  *rand.Rand
	now     time.Time
	nodes   []*node
	ns      codec.GroupID
	context codec.ContextID
	options content.Options
	places  []place
}

// newWorld begins a namespace by the first of names, whose members are the others, and a context in it.
func newWorld(t require.TestingT, seed uint64, names ...string) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), context: codec.ContextID{7}}
	for i, name := range names {
		n := w.join(name)
		if i == 0 {
			var err error
			w.ns, _, err = n.gov.Create(bg, namespace.Create{})
			require.NoError(t, err)
			continue
		}
		w.nodes[0].do(codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf(name), Role: codec.Member})
	}
	w.nodes[0].do(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: w.context})
	for _, n := range w.nodes[1:] {
		n.follow()
		w.nodes[0].govern(n, -1)
	}
	return w
}

// join adds the node of a person, who may have several.
func (w *world) join(name string) *node {
	n := &node{w: w, name: name, db: mem.New()}
	n.open()
	w.nodes = append(w.nodes, n)
	return n
}

func (n *node) follow() {
	require.NoError(n.w.t, n.gov.ImportIdentity(n.w.ns, codec.NamespaceIdentityValue{PublicKey: idOf(n.name), PrivateKey: seedOf(n.name), SenderKey: codec.Secret{1}}))
}

func (n *node) open() {
	var err error
	n.opened++
	n.gov, err = namespace.Open(n.db, namespace.Options{Rand: rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32s", fmt.Sprint(n.name, len(n.w.nodes), n.opened))))), Now: n.w.clock, MaxForks: 1000, MaxSignerHeads: 1000})
	require.NoError(n.w.t, err)
	n.dag, err = dag.Open(n.db, dag.Options{Node: codec.NodeID{Lo: 1}, Now: n.w.clock})
	require.NoError(n.w.t, err)
	n.content = content.New(n.db, n.dag, n.gov, n.w.options)
}

func (w *world) clock() time.Time { return w.now }

func (n *node) close() {
	require.NoError(n.w.t, n.dag.Close())
	require.NoError(n.w.t, n.gov.Close())
}

func (n *node) restart() {
	n.close()
	n.open()
}

func (w *world) close() {
	for _, n := range w.nodes {
		n.close()
		require.NoError(w.t, n.db.Close())
	}
}

// do proposes an op of governance.
func (n *node) do(op codec.GroupOp) {
	_, err := n.gov.Propose(bg, n.w.ns, namespace.Proposal{GroupID: n.w.ns, Group: &op})
	require.NoError(n.w.t, err)
}

// propose is do, of what may have no effect.
func (n *node) propose(op codec.GroupOp) {
	_, err := n.gov.Propose(bg, n.w.ns, namespace.Proposal{GroupID: n.w.ns, Group: &op})
	if !errors.Is(err, namespace.ErrNotEffective) {
		require.NoError(n.w.t, err)
	}
}

// govern gives another node at most some ops that it lacks; -1: all.
func (n *node) govern(to *node, most int) {
	heads, err := to.gov.Heads(bg, n.w.ns)
	require.NoError(n.w.t, err)
	for sent, err := range n.gov.OpsSince(bg, n.w.ns, heads, 0) {
		require.NoError(n.w.t, err)
		if most--; most == -1 {
			return
		}
		a, err := to.gov.Apply(bg, sent.Wire)
		require.NoError(n.w.t, err)
		require.NotEqual(n.w.t, namespace.Refused, a.Kind, "%v", a.Refusal)
	}
}

// commit writes a key; it reports whether it could.
func (n *node) commit(actions ...codec.Action) bool {
	done, err := n.try(actions...)
	if errors.Is(err, namespace.ErrNotWriter) {
		return false
	}
	require.NoError(n.w.t, err)
	require.Empty(n.w.t, done.Deltas, "nothing that is not sealed is to be sent")
	return true
}

func (n *node) try(actions ...codec.Action) (content.Committed, error) {
	_, root, err := n.dag.Heads(n.w.context)
	if err != nil {
		root, err = codec.Hash{}, nil
	}
	return n.content.Commit(bg, dag.Commit{Context: n.w.context, Actions: actions, ReadRoot: root})
}

// offer gives another node an envelope, and where that needs others these first. It reports
// whether it was taken, or refused.
func (n *node) offer(to *node, b []byte, depth int) content.AnswerKind {
	answers, err := to.content.Offer(bg, n.w.context, [][]byte{b})
	require.NoError(n.w.t, err)
	a := answers[0]
	require.NotEqual(n.w.t, content.Refused, a.Kind, "%s", a.Reason)
	if a.Kind != content.Waits || len(a.Parents) == 0 || depth == 0 {
		return a.Kind
	}
	for _, id := range a.Parents {
		parent, err := n.content.Envelope(bg, n.w.context, id)
		if err != nil {
			return a.Kind
		}
		n.offer(to, parent, depth-1)
	}
	return n.offer(to, b, 0)
}

// lacking are the envelopes that another node lacks, parents first.
func (n *node) lacking(to *node) (all [][]byte) {
	heads, err := to.content.Heads(bg, n.w.context)
	require.NoError(n.w.t, err)
	for b, err := range n.content.Since(bg, n.w.context, heads) {
		require.NoError(n.w.t, err)
		all = append(all, bytes.Clone(b))
	}
	return all
}

// last is the envelope that the node has applied last.
func (n *node) last() (b []byte) { return n.first(-1) }

// first is the last of the first envelopes that the node has applied; -1: of all.
func (n *node) first(most int) (b []byte) {
	for e, err := range n.content.Since(bg, n.w.context, nil) {
		require.NoError(n.w.t, err)
		if most--; most == -1 {
			break
		}
		b = e
	}
	return b
}

// look judges a context anew, which changes something where a verification has said so.
func (n *node) look() {
	unjudged, before := n.verify(), n.envelopes()
	require.NoError(n.w.t, n.content.Look(bg, n.w.context))
	require.Equal(n.w.t, unjudged == 0, maps.Equal(before, n.envelopes()), "%d are to be judged", unjudged)
}

// verify demands that all rows of what is signed go together, and returns how many envelopes are to be
// judged yet.
func (n *node) verify() int {
	unjudged, err := n.content.Verify(bg, n.w.context, content.VerifyOptions{}, func(f content.Fault) error {
		return fmt.Errorf("%s %x: %s", f.Code, f.Key, f.Detail)
	})
	require.NoError(n.w.t, err)
	return unjudged
}

// rows are what all nodes have alike.
func (n *node) rows() map[string]string {
	all := map[string]string{}
	for _, c := range []column.Column{column.State, column.Meta, column.Delta} {
		it, err := n.db.Iterate(c, engine.Prefixed(n.w.context[:]))
		require.NoError(n.w.t, err)
		for it.Next() {
			all[c.String()+string(it.Key())] = string(it.Value())
		}
		require.NoError(n.w.t, it.Err())
		require.NoError(n.w.t, it.Close())
	}
	return all
}

// envelopes are those that a node has, and of each whether it counts.
func (n *node) envelopes() map[codec.EnvelopeID]bool {
	all := map[codec.EnvelopeID]bool{}
	for b, err := range n.content.Since(bg, n.w.context, nil) {
		require.NoError(n.w.t, err)
		e, err := envelope.Parse(b)
		require.NoError(n.w.t, err)
		all[e.ID] = true
	}
	held, err := n.content.Held(bg, n.w.context)
	require.NoError(n.w.t, err)
	for _, h := range held {
		all[h.ID] = false
	}
	return all
}

// state returns the value of a key; "": it has none.
func (n *node) state(key string) string {
	v, err := n.dag.State(n.w.context, []byte(key))
	if err != nil {
		return ""
	}
	return string(v)
}

// naive is the definition of what counts, over all envelopes that some nodes have.
func (w *world) naive(nodes ...*node) map[codec.EnvelopeID]bool {
	all := map[codec.EnvelopeID]*envelope.Envelope{}
	for _, n := range nodes {
		for id := range n.envelopes() {
			b, err := n.content.Envelope(bg, w.context, id)
			require.NoError(w.t, err)
			all[id], err = envelope.Parse(b)
			require.NoError(w.t, err)
		}
	}
	return contenttest.Naive(w.t, nodes[0].gov, w.ns, w.context, all)
}

// heal has nodes exchange everything until nothing changes.
func (w *world) heal(nodes ...*node) {
	for range 3 {
		for _, a := range nodes {
			for _, b := range nodes {
				a.govern(b, -1)
			}
		}
	}
	for round := 0; ; round++ {
		require.Less(w.t, round, 50, "it does not end")
		before := fmt.Sprint(w.all(nodes))
		for _, a := range nodes {
			a.look()
			for _, b := range nodes {
				if a != b {
					for _, e := range a.lacking(b) {
						a.offer(b, e, 1000)
					}
				}
			}
		}
		if fmt.Sprint(w.all(nodes)) == before {
			return
		}
	}
}

func (w *world) all(nodes []*node) (all []map[codec.EnvelopeID]bool) {
	for _, n := range nodes {
		all = append(all, n.envelopes())
	}
	return all
}

// counting are those that count.
func counting(all map[codec.EnvelopeID]bool) map[codec.EnvelopeID]bool {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(_ codec.EnvelopeID, counts bool) bool { return !counts })
	return all
}
