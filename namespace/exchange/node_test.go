package exchange_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/namespace/exchange"
)

var bg = context.Background()

// now is the time of all nodes of tests, which they do not wait for.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// node is that of a person.
type node struct {
	t    require.TestingT
	name string
	db   engine.Engine
	exchange.Stores
	ns     codec.GroupID
	clock  func() time.Time
	opened int // how often
}

func seedOf(name string) codec.Secret { return codec.Secret([]byte(fmt.Sprintf("%-32s", name))) }

func idOf(name string) codec.Identity { return group.IdentityOf(seedOf(name)) }

// newNode opens the node of a person who has an identity in a namespace; of the zero namespace it has none.
func newNode(t require.TestingT, name string, ns codec.GroupID) *node {
	n := &node{t: t, name: name, db: mem.New(), ns: ns, clock: func() time.Time { return now }}
	n.open()
	if !ns.IsZero() {
		n.identify()
	}
	return n
}

// open opens the stores of what the node has.
func (n *node) open() {
	n.opened++
	draws := n.name
	if n.opened > 1 {
		draws = fmt.Sprint(n.name, n.opened)
	}
	var err error
	n.Governance, err = namespace.Open(n.db, namespace.Options{Rand: rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32s", draws)))), Now: n.clock})
	require.NoError(n.t, err)
	n.Contexts, err = dag.Open(n.db, dag.Options{Node: codec.NodeID{Lo: 1}, Now: n.clock})
	require.NoError(n.t, err)
	n.Content = content.New(n.db, n.Contexts, n.Governance, content.Options{})
	n.Blobs, err = blob.Open(n.db, blob.Options{})
	require.NoError(n.t, err)
}

func (n *node) identify() {
	require.NoError(n.t, n.Governance.ImportIdentity(n.ns, codec.NamespaceIdentityValue{PublicKey: idOf(n.name), PrivateKey: seedOf(n.name), SenderKey: codec.Secret{1}}))
}

func (n *node) close() {
	n.halt()
	require.NoError(n.t, n.db.Close())
}

// halt closes the stores of what the node has.
func (n *node) halt() {
	require.NoError(n.t, n.Blobs.Close())
	require.NoError(n.t, n.Contexts.Close())
	require.NoError(n.t, n.Governance.Close())
}

// begin returns the node of who begins a namespace, with contexts, and those of its members.
func begin(t require.TestingT, contexts int, members ...string) []*node {
	first := newNode(t, members[0], codec.GroupID{})
	var err error
	first.ns, _, err = first.Governance.Create(bg, namespace.Create{})
	require.NoError(t, err)
	nodes := []*node{first}
	for _, name := range members[1:] {
		first.do(codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf(name), Role: codec.Member})
		nodes = append(nodes, newNode(t, name, first.ns))
	}
	for i := range contexts {
		first.do(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: contextOf(i)})
	}
	return nodes
}

func contextOf(i int) codec.ContextID { return codec.ContextID{7, byte(i)} }

func (n *node) do(op codec.GroupOp) { n.doIn(n.ns, op) }

func (n *node) doIn(g codec.GroupID, op codec.GroupOp) {
	_, err := n.Governance.Propose(bg, n.ns, namespace.Proposal{GroupID: g, Group: &op})
	require.NoError(n.t, err)
}

// commit writes a key of a context.
func (n *node) commit(c codec.ContextID, key, value string) error {
	_, root, err := n.Contexts.Heads(c)
	if err != nil {
		root = codec.Hash{}
	}
	_, err = n.Content.Commit(bg, dag.Commit{Context: c, Actions: []codec.Action{put(key, value)}, ReadRoot: root})
	return err
}

func put(key, value string) codec.Action {
	return codec.Action{Kind: codec.ActionPut, Key: []byte(key), Value: []byte(value)}
}

// state returns the value of a key; "": it has none.
func (n *node) state(c codec.ContextID, key string) string {
	v, err := n.Contexts.State(c, []byte(key))
	if err != nil {
		return ""
	}
	return string(v)
}

func (n *node) heads(c codec.ContextID) []codec.EnvelopeID {
	heads, err := n.Content.Heads(bg, c)
	require.NoError(n.t, err)
	return heads
}

// sides are what became of a session, on both.
type sides struct {
	a, b       *exchange.Report
	errA, errB error
}

// meet has two nodes have a session.
func meet(t testing.TB, a, b *node, o ...func(*exchange.Options)) sides {
	t.Helper()
	left, right := net.Pipe()
	return meetOver(t, a, b, left, right, o...)
}

func meetOver(t testing.TB, a, b *node, left, right net.Conn, o ...func(*exchange.Options)) (s sides) {
	t.Helper()
	first, second := exchange.Options{Initiator: true}, exchange.Options{}
	for _, fn := range o {
		fn(&first)
		fn(&second)
	}
	first.Initiator, second.Initiator = true, false
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.b, s.errB = exchange.Run(bg, right, b.Stores, second)
	}()
	s.a, s.errA = exchange.Run(bg, left, a.Stores, first)
	<-done
	return s
}

// level has two nodes have a session that brings them level.
func level(t testing.TB, a, b *node, o ...func(*exchange.Options)) sides {
	t.Helper()
	s := meet(t, a, b, o...)
	require.NoError(t, s.errA)
	require.NoError(t, s.errB)
	for _, r := range []*exchange.Report{s.a, s.b} {
		for _, n := range r.Namespaces {
			require.True(t, n.Level, "%+v", n)
			for _, c := range n.Contexts {
				require.True(t, c.Level, "%+v", c)
			}
		}
	}
	return s
}
