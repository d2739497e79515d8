package dag

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

func TestAStoreHasANodeAndNoNegativeLimits(t *testing.T) {
	db := mem.New()
	defer db.Close()
	_, err := Open(db, Options{})
	require.ErrorContains(t, err, "no node id")
	node := codec.NodeID{Lo: 1}
	for _, o := range []Options{{MaxPending: -1}, {MaxPendingBytes: -1}, {MaxRefused: -1}, {MaxContexts: -1}, {MaxTail: -1}, {CutBudget: -1}, {MaxSnapshots: -1}, {SnapshotIdle: -1}} {
		o.Node = node
		_, err := Open(db, o)
		require.ErrorContains(t, err, "a negative limit")
	}
}

func TestNoMoreContextsAreKeptLoadedThanMay(t *testing.T) {
	db := mem.New()
	defer db.Close()
	s, err := Open(db, Options{Node: codec.NodeID{Lo: 1}, MaxContexts: 2})
	require.NoError(t, err)
	defer s.Close()
	for i := range byte(10) {
		q, err := s.writeQueue(codec.ContextID{i})
		require.NoError(t, err)
		s.release(q)
		s.mu.Lock()
		require.LessOrEqual(t, len(s.queues.all), 2)
		require.Equal(t, len(s.queues.all), s.queues.used.Len())
		require.Contains(t, s.queues.all, codec.ContextID{i}, "the one that was used last is kept")
		s.mu.Unlock()
	}
}

func TestStateRowsOfAnySizeComeBack(t *testing.T) {
	for _, c := range [][2]string{{"", ""}, {"k", ""}, {"", "v"}, {"key", "value"}} {
		row := appendStateRow(nil, []byte(c[0]), []byte(c[1]))
		key, value, ok := parseStateRow(row)
		require.True(t, ok)
		require.Equal(t, c, [2]string{string(key), string(value)})
		_, _, ok = parseStateRow(row[:min(3, len(row))])
		require.False(t, ok)
	}
	_, _, ok := parseStateRow([]byte{1, 0, 0, 0})
	require.False(t, ok, "a key that is longer than the row")
}

func TestADeltaOfNothingHasNoLists(t *testing.T) {
	d := &Delta{HLC: codec.HybridTimestamp{Time: 1, ID: codec.NodeID{Lo: 1}}}
	b, err := d.AppendBinary(nil)
	require.NoError(t, err)
	back, err := ParseDelta(b)
	require.NoError(t, err)
	require.Equal(t, d, back)
}

// The most parents, as the schema of keys has them, are those of a delta.
func TestTheSchemaHasAsManyParentsAsADelta(t *testing.T) {
	c := codec.ContextID{1}
	key := orderKey(nil, &c, 1)
	row := orderRow{hlc: codec.HybridTimestamp{ID: codec.NodeID{Lo: 1}}, parents: make([]uint64, MaxParents)}
	require.NoError(t, keys.Check(column.Generic, key, row.appendBinary(nil)))
	row.parents = append(row.parents, 1)
	require.Error(t, keys.Check(column.Generic, key, row.appendBinary(nil)))
}
