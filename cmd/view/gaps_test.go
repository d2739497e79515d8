package view

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// holed reads a store in which one row of a column cannot be read.
type holed struct {
	engine.Reader
	col column.Column
	at  []byte
}

func (h holed) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if col == h.col && string(key) == string(h.at) {
		return dst, fmt.Errorf("holed: %w", engine.ErrCorrupt)
	}
	return h.Reader.Get(dst, col, key)
}

func (h holed) Iterate(col column.Column, rg engine.Range) (*engine.Iterator, error) {
	limit := rg.Limit
	rg.Limit = 0
	it, err := h.Reader.Iterate(col, rg)
	if err != nil || col != h.col {
		return it, err
	}
	return engine.NewIterator(holedPager{it, h.at}, limit), nil
}

type holedPager struct {
	it *engine.Iterator
	at []byte
}

func (p holedPager) Page(dst []byte, _, _ int) ([]byte, int, error) {
	if !p.it.Next() {
		return dst, 0, p.it.Err()
	}
	if string(p.it.Key()) == string(p.at) {
		return dst, 0, fmt.Errorf("holed: %w", engine.ErrCorrupt)
	}
	return engine.AppendEntry(dst, p.it.Key(), p.it.Value()), 1, nil
}

func (p holedPager) Close() error { return p.it.Close() }

// holedAt returns a server of a store of which that row cannot be read.
func (s *sample) holedAt(t *testing.T, col column.Column, key []byte) *Server {
	srv, err := New(Options{Open: func() (*inspect.Source, error) {
		return inspect.From(holed{s.store, col, key}, inspect.Facts{}), nil
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// keysOf returns the keys of a column that begin with prefix.
func (s *sample) keysOf(t *testing.T, col column.Column, prefix []byte) (all [][]byte) {
	it, err := s.store.Iterate(col, engine.Prefixed(prefix))
	require.NoError(t, err)
	for it.Next() {
		all = append(all, slices.Clone(it.Key()))
	}
	require.NoError(t, it.Err())
	require.NoError(t, it.Close())
	return all
}

func TestRecordsGoOnBehindWhatCannotBeRead(t *testing.T) {
	sample := newSample(t, 3)
	all := sample.keysOf(t, column.Delta, nil)
	hole := all[len(all)/2]
	s := sample.holedAt(t, column.Delta, hole)
	for _, reverse := range []string{"0", "1"} {
		page := ask[pageDoc](t, s, "rows", "column", "Delta", "reverse", reverse)
		require.Equal(t, 1, page.Left, "%+v", page.Places)
		require.Empty(t, page.Fault)
		require.Len(t, page.Rows, len(all)-1)
	}
	page := ask[pageDoc](t, s, "rows", "column", "Delta", "limit", "1", "after", hex.EncodeToString(all[len(all)/2-1]))
	require.Equal(t, hex.EncodeToString(all[len(all)/2+1]), page.Rows[0].At)
	require.Equal(t, "unreadable", page.Places[0].Code)
}

func TestListsGoOnBehindWhatCannotBeRead(t *testing.T) {
	sample := newSample(t, 1)
	sample.put(t, func(b *engine.Batch) {
		for i := range 5 {
			engine.Put(b, keys.ContextMeta{Context: idNamed(fmt.Sprint("more ", i))}, codec.ContextMetaValue{})
			engine.Put(b, keys.NamespaceGovHead{Namespace: idNamed(fmt.Sprint("more ", i))}, codec.NamespaceGovHeadValue{})
			engine.Put(b, keys.GroupContextIndex{Group: sample.child, Context: idNamed(fmt.Sprint("more ", i))}, codec.Present{})
		}
	})
	for _, tc := range []struct {
		path   string
		col    column.Column
		prefix []byte
	}{
		{"contexts", column.Meta, nil},
		{"namespaces", column.Group, []byte{keys.NamespaceGovHead{}.Slot().Tag}},
	} {
		all := sample.keysOf(t, tc.col, tc.prefix)
		s := sample.holedAt(t, tc.col, all[2])
		list := ask[listDoc](t, s, tc.path)
		require.Len(t, list.Items, len(all)-1, tc.path)
		require.Equal(t, 1, list.Left, tc.path)
		require.Contains(t, list.Places[0].Reason, "cannot be read", tc.path)
	}

	all := sample.keysOf(t, column.Group, []byte{keys.GroupMeta{}.Slot().Tag})
	s := sample.holedAt(t, column.Group, all[2])
	groups := ask[struct {
		Groups []groupDoc
		gaps
	}](t, s, "groups")
	require.Len(t, groups.Groups, len(all)-1)
	_, body := get(s, "api/groups")
	require.Contains(t, string(body), `"left_out":1`)

	all = sample.keysOf(t, column.Group, append([]byte{keys.GroupContextIndex{}.Slot().Tag}, sample.child[:]...))
	s = sample.holedAt(t, column.Group, all[2])
	g := ask[groupDoc](t, s, "group", "id", sample.child.String())
	require.Len(t, g.Contexts, len(all)-1)
	require.Contains(t, g.Fault, "unreadable")
}

func TestGraphsOfDeltasGoOnBehindDamage(t *testing.T) {
	sample := newSample(t, 4)
	whole := ask[Graph](t, sample.served(t), "deltas", "context", sample.context.String())
	prefix, err := (&contextGraph{context: sample.context}).place(orderScope)
	require.NoError(t, err)
	order := sample.keysOf(t, column.Generic, prefix)

	s := sample.holedAt(t, column.Generic, order[2])
	g := ask[Graph](t, s, "deltas", "context", sample.context.String())
	require.Len(t, g.Nodes, len(whole.Nodes)-1)
	require.Equal(t, 1, g.Left)

	row := append(sample.context[:], sample.applied[1][:]...)
	g = ask[Graph](t, sample.holedAt(t, column.Delta, row), "deltas", "context", sample.context.String())
	require.Len(t, g.Nodes, len(whole.Nodes))
	require.True(t, slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Kind == kindDamaged && n.ID == sample.applied[1].String() }))

	sample.put(t, func(b *engine.Batch) {
		b.Put(column.Generic, order[1], []byte("short"))
		b.Put(column.Meta, sample.context[:], []byte("no description"))
	})
	g = ask[Graph](t, sample.served(t), "deltas", "context", sample.context.String())
	require.Len(t, g.Nodes, len(whole.Nodes)-1)
	require.Equal(t, 2, g.Left, "%+v", g.Places)
}

func TestGraphsOfDeltasWithoutAnOrderGoOnBehindDamage(t *testing.T) {
	sample := newSample(t, 1)
	other := codec.ContextID(idNamed("without an order"))
	sample.put(t, func(b *engine.Batch) {
		for i := range 5 {
			engine.Put(b, keys.ContextDagDelta{Context: other, Delta: idNamed(fmt.Sprint(i))}, codec.ContextDagDeltaValue{Applied: true, HLC: codec.HybridTimestamp{ID: codec.NodeID{Lo: 1}}})
		}
	})
	all := sample.keysOf(t, column.Delta, other[:])
	sample.put(t, func(b *engine.Batch) { b.Put(column.Delta, all[1], []byte("?")) })
	g := ask[Graph](t, sample.holedAt(t, column.Delta, all[3]), "deltas", "context", other.String())
	require.Len(t, g.Nodes, 4)
	require.Equal(t, 1, g.Left)
	require.True(t, slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Kind == kindDamaged }))
}

func TestGraphsOfOpsGoOnBehindDamage(t *testing.T) {
	c := newCommons(t)
	whole := ask[Graph](t, c.served(t), "ops", "namespace", c.namespace.String())
	prefix := append([]byte{keys.NamespaceGovOp{}.Slot().Tag}, c.namespace[:]...)
	below := whole.Nodes[2] // others are only reached through it
	key, err := hex.DecodeString(below.At)
	require.NoError(t, err)
	require.Len(t, c.keysOf(t, column.Group, prefix), len(whole.Nodes))

	g := ask[Graph](t, c.holedAt(t, column.Group, key), "ops", "namespace", c.namespace.String())
	require.Len(t, g.Nodes, len(whole.Nodes))
	require.NotZero(t, g.Left)
	at := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.ID == below.ID })
	require.Equal(t, kindDamaged, g.Nodes[at].Kind)

	c.put(t, func(b *engine.Batch) {
		b.Put(column.Group, append([]byte{keys.NamespaceGovHead{}.Slot().Tag}, c.namespace[:]...), []byte("?"))
	})
	g = ask[Graph](t, c.served(t), "ops", "namespace", c.namespace.String())
	require.Len(t, g.Nodes, len(whole.Nodes))
	require.NotZero(t, g.Left)
}

// An op whose clear text is damaged is shown as sealed, and said to be.
func TestDamagedLogsOfGroupsAreSaid(t *testing.T) {
	c := newCommons(t)
	log := c.keysOf(t, column.Group, []byte{keys.GroupOpLog{}.Slot().Tag})
	sealed := slices.IndexFunc(log, func(key []byte) bool {
		value, err := c.store.Get(nil, column.Group, key)
		require.NoError(t, err)
		row, err := codec.OpLogValue{}.Decode(value)
		require.NoError(t, err)
		op, err := codec.SignedGroupOp{}.Decode(row.Op)
		require.NoError(t, err)
		return !namespace.IsClear(op.Op.Kind)
	})
	c.put(t, func(b *engine.Batch) { b.Put(column.Group, log[sealed], []byte("?")) })
	g := ask[Graph](t, c.served(t), "ops", "namespace", c.namespace.String())
	require.True(t, slices.ContainsFunc(g.Nodes, func(n Node) bool { return strings.HasPrefix(n.Label, "sealed op") }))
	require.Equal(t, 1, g.Left, "%+v", g.Places)
}

// Ops that this build cannot judge are shown as everyone sees them.
func TestOpsOfNewerRulesStayAsEveryoneSeesThem(t *testing.T) {
	c := newCommons(t)
	whole := ask[Graph](t, c.served(t), "ops", "namespace", c.namespace.String())
	scope, err := keys.NewScope("gov-rules")
	require.NoError(t, err)
	c.put(t, func(b *engine.Batch) {
		b.Put(column.Generic, append(scope[:], c.namespace[:]...), binary.LittleEndian.AppendUint32(nil, namespace.Rules+1))
	})
	g := ask[Graph](t, c.served(t), "ops", "namespace", c.namespace.String())
	require.Len(t, g.Nodes, len(whole.Nodes))
	require.Equal(t, 1, g.Left)
	require.Contains(t, g.Places[0].Reason, "use a newer one")
	for _, n := range g.Nodes {
		require.Empty(t, n.Verdict)
	}
}
