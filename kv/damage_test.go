package kv

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func u64s(numbers ...uint64) (b []byte) {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

func TestRevisionsOfAHistoryAreInOrder(t *testing.T) {
	list, err := parseRevisions(nil, u64s(1, 2, 9))
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 2, 9}, list)
	for _, bad := range [][]byte{nil, make([]byte, 7), u64s(2, 1), u64s(1, 1), u64s(1, 3, 2), make([]byte, 8*MaxHistory+8)} {
		_, err := parseRevisions(nil, bad)
		require.ErrorIs(t, err, engine.ErrCorrupt, "%x", bad)
	}
}

func TestAStreamBeginsBeforeItEnds(t *testing.T) {
	for _, good := range [][]byte{u64s(1, 0, 0, 0, 0, 0), u64s(1, 1, 0, 0, 0, 1), u64s(5, 4, 0, maxTime, 0, maxTime)} {
		i, err := parseStreamHead(nil, good)
		require.NoError(t, err)
		require.Equal(t, good, i.bytes())
	}
	for _, bad := range [][]byte{nil, u64s(1, 1, 0, 0, 0), u64s(0, 0, 0, 0, 0, 0), u64s(6, 4, 0, 0, 0, 0), u64s(1, 1, 0, maxTime+1, 0, 0), u64s(1, 1, 0, 0, 0, maxTime+1)} {
		_, err := parseStreamHead(nil, bad)
		require.ErrorIs(t, err, engine.ErrCorrupt, "%x", bad)
	}
}

func TestRecordsAreOfAKindAndWrittenAfterTheirCreation(t *testing.T) {
	now := timeOf(1000)
	for _, good := range []Record{
		{Kind: Put, Revision: 3, Created: 3, Written: now, Value: []byte("v")},
		{Kind: Put, Revision: 3, Created: 1, Written: now, expires: maxTime},
		{Kind: Deleted, Revision: 3, Written: now},
		{Kind: Deleted, Revision: 3, Created: 3, Written: now},
		{Kind: Expired, Revision: 3, Written: now},
		{Kind: Deleted, Revision: 3, Written: now, Value: []byte("of the log: what it was")},
	} {
		b := appendRecord(nil, &good)
		r, err := parseRecord(nil, nil, b)
		require.NoError(t, err, "%+v", good)
		require.Equal(t, b, appendRecord(nil, &r))
	}
	for _, bad := range []Record{
		{Kind: 0, Revision: 3, Created: 3, Written: now}, {Kind: Expired + 1, Revision: 3, Written: now},
		{Kind: Put, Revision: 0, Written: now}, {Kind: Put, Revision: 3, Created: 4, Written: now}, {Kind: Put, Revision: 3, Written: now},
		{Kind: Put, Revision: 3, Created: 3, Written: now, expires: maxTime + 1},
		{Kind: Put, Revision: 3, Created: 3, Written: timeOf(maxTime).Add(time.Millisecond)},
		{Kind: Deleted, Revision: 3, Written: now, Value: []byte("v")}, {Kind: Expired, Revision: 3, Written: now, Value: []byte("v")},
	} {
		_, err := parseRecord(Row{Shape: ShapeRecord}.AppendKey(nil), nil, appendRecord(nil, &bad))
		require.ErrorIs(t, err, engine.ErrCorrupt, "%+v", bad)
	}
	_, err := parseRecord(nil, nil, make([]byte, recordHeader-1))
	require.ErrorIs(t, err, engine.ErrCorrupt)
}

func TestASpaceWhoseNameHasAnotherNumberIsFound(t *testing.T) {
	h := newTestStore(t)
	put(t, h.space("tenant", "words"), "k", "v", 0)
	changed := 0
	for row, err := range scanRows(ctx, h.db, engine.Range{Start: []byte{0}, End: []byte{1}}) {
		require.NoError(t, err)
		if row.Shape != ShapeSpace {
			continue
		}
		changed++
		was := append([]byte(nil), row.value...)
		write := func(value []byte) {
			var b engine.Batch
			b.Put(column.Generic, row.raw, value)
			require.NoError(t, h.db.Apply(&b))
		}
		write(u64s(binary.LittleEndian.Uint64(was) + 1))
		found := ""
		for f, err := range h.Check(ctx) {
			require.NoError(t, err)
			found += f.String() + "\n"
		}
		require.Contains(t, found, "another number")
		write(was)
	}
	require.Equal(t, 1, changed)
	h.sound()
}
