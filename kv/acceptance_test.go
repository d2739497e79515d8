package kv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvtest"
)

// README.md lists every requirement on key-values with its test, and every
// test that it lists is there and carries the row's number in its name.
func TestEveryRowHasATest(t *testing.T) {
	listed := kvtest.Rows(t, nil, "*_test.go", "kvstorage/*_test.go", "../cmd/inspect/*_test.go", "../cmd/stoa/internal/daemon/*_test.go", "../rpc/server/*_test.go")
	delete(listed, "") // more tests of a row
	for table, rows := range map[string]int{"K": 46, "X": 17} {
		for n := 1; n <= rows; n++ {
			require.Contains(t, listed, fmt.Sprint(table, n), "the row has no test")
		}
	}
	require.Len(t, listed, 46+17)
}

// Every row of a store in use is printed with its parts; a row of no known shape
// is told apart.
func TestX14EveryRowIsPrintedDecoded(t *testing.T) {
	h := newTestStore(t)
	s := h.space("tenant", "words")
	put(t, s, "k\x00", "some words", time.Hour)
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		_, err := tx.Add("set", []byte("m"), 1.5)
		require.NoError(t, err)
		_, err = tx.Append("stream", []byte("x"), StreamLimits{})
		require.NoError(t, err)
		_, err = tx.CreateGroup("stream", "g", 0)
		require.NoError(t, err)
		_, err = tx.Deliver("stream", "g", "c", 1)
		require.NoError(t, err)
		require.NoError(t, tx.Keep("kept", []byte("x")))
		return tx.Schedule("job", tx.Now().Add(time.Hour), nil)
	}))
	seen := map[string]map[string]any{}
	for row, err := range scanRows(ctx, h.db, engine.Range{Start: []byte{0}, End: []byte{1}}) {
		require.NoError(t, err)
		text, err := json.Marshal(row.Row)
		require.NoError(t, err)
		var parts map[string]any
		require.NoError(t, json.Unmarshal(text, &parts))
		seen[parts["shape"].(string)] = parts
	}
	for i := range layouts {
		if l := &layouts[i]; l.name != "store" {
			require.Contains(t, seen, l.name)
		}
	}
	require.Equal(t, map[string]any{"shape": "record", "system": 255.0, "space": 1.0, "tenant": "1", "key": "k\x00"}, seen["record"])
	require.Equal(t, map[string]any{"shape": "order", "system": 255.0, "space": 1.0, "tenant": "1", "name": "set", "score": "1.5", "key": "m"}, seen["order"])
	require.Equal(t, "tenant", seen["tenant"]["key"])
	for _, unknown := range [][]byte{nil, s.scope[:], append(s.scope[:len(s.scope):len(s.scope)], '!'), make([]byte, 17), append(make([]byte, 16), 'V')} {
		_, err := ParseRow(unknown)
		require.ErrorIs(t, err, engine.ErrCorrupt)
	}
}

// The check finds what is damaged: one row is taken away, or added, at a time.
func TestTheCheckFindsEveryMissingRow(t *testing.T) {
	h := newTestStore(t)
	s := h.space("tenant", "words")
	put(t, s, "k", "some words", time.Hour)
	put(t, s, "l", "words", 0)
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		_, err := tx.Add("set", []byte("m"), 1.5)
		require.NoError(t, err)
		_, err = tx.Append("stream", []byte("x"), StreamLimits{Age: time.Hour})
		require.NoError(t, err)
		_, err = tx.CreateGroup("stream", "g", 0)
		require.NoError(t, err)
		_, err = tx.Deliver("stream", "g", "c", 1)
		require.NoError(t, err)
		return tx.Schedule("job", tx.Now().Add(time.Hour), nil)
	}))
	h.sound()
	seen := map[string]bool{}
	findings := func() (codes []string) {
		for f, err := range h.Check(ctx) {
			require.NoError(t, err)
			codes = append(codes, f.Code)
			seen[f.Code] = true
		}
		return codes
	}
	type stored struct{ key, value []byte }
	var all []stored
	for row, err := range scanRows(ctx, h.db, engine.Range{Start: []byte{0}, End: []byte{1}}) {
		require.NoError(t, err)
		if row.Shape != ShapeStore { // counters from which nothing is derived
			all = append(all, stored{append([]byte{}, row.raw...), append([]byte{}, row.value...)})
		}
	}
	for _, one := range all {
		var b engine.Batch
		b.Delete(column.Generic, one.key)
		require.NoError(t, h.db.Apply(&b))
		require.NotEmpty(t, findings(), "%x is missing", one.key)
		b.Reset()
		b.Put(column.Generic, one.key, append(one.value[:len(one.value):len(one.value)], 0xFF))
		require.NoError(t, h.db.Apply(&b))
		row, err := ParseRow(one.key)
		require.NoError(t, err)
		if derived := row.Shape == ShapeRecord || row.Shape == ShapeJob || row.Shape == ShapeEntry || row.Shape == ShapePending || row.Shape == ShapeLog || row.Shape == ShapeRevision || len(one.value) == 0; !derived {
			require.NotEmpty(t, findings(), "%x has another value", one.key)
		}
		b.Reset()
		b.Put(column.Generic, one.key, one.value)
		require.NoError(t, h.db.Apply(&b))
	}
	require.Empty(t, findings())
	for _, extra := range []Row{
		{Scope: s.scope, Shape: ShapeIndex, Index: 1, Name: []byte("none"), Key: []byte("k")}, {Scope: s.scope, Shape: ShapeIndex, Index: 7, Name: []byte("some"), Key: []byte("k")},
		{Shape: ShapeDue, Due: 1, Of: s.scope, Kind: byte(ShapeJob), Key: []byte("none")}, {Scope: s.scope, Shape: ShapeOrder, Name: []byte("set"), Score: 9, Key: []byte("m2")},
		{Shape: ShapeTenantSpaces, Number: 9, Of: s.scope},
	} {
		var b engine.Batch
		b.Put(column.Generic, extra.AppendKey(nil), nil)
		require.NoError(t, h.db.Apply(&b))
		require.NotEmpty(t, findings(), "%+v", extra)
		b.Reset()
		b.Delete(column.Generic, extra.AppendKey(nil))
		require.NoError(t, h.db.Apply(&b))
	}
	require.Equal(t, []string{"counters", "due", "group", "history", "index", "log", "registry", "row", "set", "stream"}, slices.Sorted(maps.Keys(seen)))
}

// A record, what is kept of it as history and the change that the log has of it are one:
// whichever bit of one is flipped, the check finds it.
func TestTheCheckComparesTheLogWithWhatItLeft(t *testing.T) {
	h := newTestStore(t)
	s := h.space("tenant", "words")
	for _, value := range []string{"some words", "other words", "last"} {
		put(t, s, "k", value, time.Hour)
	}
	h.sound()
	set := func(key, value []byte) (codes []string) {
		var b engine.Batch
		b.Put(column.Generic, key, value)
		require.NoError(t, h.db.Apply(&b))
		for f, err := range h.Check(ctx) {
			require.NoError(t, err)
			codes = append(codes, f.Code)
		}
		return codes
	}
	type stored struct {
		Row
		key, value []byte
	}
	var rows []stored
	for row, err := range scanRows(ctx, h.db, engine.Prefixed(s.scope[:])) {
		require.NoError(t, err)
		switch row.Shape {
		case ShapeRecord, ShapeRevision, ShapeLog:
			rows = append(rows, stored{row.Row, bytes.Clone(row.raw), bytes.Clone(row.value)})
		}
	}
	require.Len(t, rows, 7, "a record, three changes, three revisions")
	older := []byte(nil)
	for _, row := range rows {
		for at := range row.value {
			flipped := bytes.Clone(row.value)
			flipped[at] ^= 1 << (at % 8)
			require.NotEmpty(t, set(row.key, flipped), "%s, byte %d", row.Shape, at)
		}
		require.Empty(t, set(row.key, row.value))
		if row.Shape == ShapeRevision && older == nil {
			older = row.value
		}
	}
	for _, row := range rows {
		if row.Shape == ShapeRecord {
			require.Contains(t, set(row.key, older), "log")
			require.Empty(t, set(row.key, row.value))
		}
	}
}
