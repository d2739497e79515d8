package record

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestEveryRowHasATest(t *testing.T) {
	listed := kvtest.Rows(t, nil, "*_test.go")
	for _, row := range []string{"B1", "B2", "B3", "B4", "B5", "B15", "B16"} {
		require.Contains(t, listed, row)
	}
}

// Rows of a store, worked out by hand.
func TestBytesAreAsTheREADMESays(t *testing.T) {
	db := mem.New()
	h, end := open(t, db, kvtest.New())
	h.create("worker", object{"worker_id": "ann"})
	h.create("worker", object{"worker_id": "w", "boss": "a\x00b", "age": -1})
	h.create("entry", object{"what": "x"})
	rows := map[string]string{}
	it, err := db.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	for it.Next() {
		row, err := kv.ParseRow(it.Key())
		require.NoError(t, err)
		switch row.Shape {
		case kv.ShapeRecord:
			rows["V "+string(row.Key)] = fmt.Sprintf("%q", it.Value()[34:])
		case kv.ShapeKept:
			rows["K "+string(row.Key)] = fmt.Sprintf("%q", it.Value())
		case kv.ShapeIndex:
			rows[fmt.Sprint("I ", row.Index, " ", hex.EncodeToString(row.Name))] = string(row.Key)
		}
	}
	require.NoError(t, it.Err())
	require.NoError(t, it.Close())
	require.Equal(t, map[string]string{
		"V ann":                     `"\x00\x00\x00\x00\x00\x00\x00\x01{\"worker_id\":\"ann\"}"`,
		"V w":                       `"\x00\x00\x00\x00\x00\x00\x00\x02{\"age\":-1,\"boss\":\"a\\u0000b\",\"worker_id\":\"w\"}"`,
		"V ent-20260301-\x06000001": `"\x00\x00\x00\x00\x00\x00\x00\x01{\"entry_id\":\"ent-20260301-000001\",\"timestamp\":\"2026-03-01T12:00:00Z\",\"what\":\"x\"}"`,
		"K counter:20260301":        `"\x00\x00\x00\x00\x00\x00\x00\x01"`,
		"I 0 0000000000000002":      "w",
		"I 1 046100ff620001" + "0000000000000002":             "w",
		"I 2 03" + "400fffffffffffff0000000000000002":         "w",
		"I 0 0000000000000001":                                "ent-20260301-\x06000001",
		"I 1 04323032362d30332d30310001" + "0000000000000001": "ent-20260301-\x06000001",
	}, without(rows, "I 0 0000000000000001", "ent-20260301-\x06000001"))
	end()
	require.NoError(t, db.Close())
}

// without has a value under a key that two spaces have, of which the map has one.
func without(rows map[string]string, key, value string) map[string]string {
	if rows[key] != "" {
		rows[key] = value
	}
	return rows
}

func TestAListReadsAPageOfItsIndexAndThoseRecords(t *testing.T) {
	db := mem.New()
	defer db.Close()
	h, end := open(t, db, kvtest.New())
	for i := range 300 {
		h.create("worker", object{"worker_id": fmt.Sprint("w", i), "boss": "bob"})
	}
	end()
	f := faulty.New(db, faulty.Options{At: 1 << 30, Calls: faulty.Reads})
	h, end = open(t, f, kvtest.New())
	defer end()
	q := Query{Filters: []Filter{Equal("by_boss", "bob")}, Limit: 100}
	_, err := h.List(ctx, "a", "worker", q) // which looks the space up
	require.NoError(t, err)
	before := f.Count(faulty.Reads)
	page, err := h.List(ctx, "a", "worker", q)
	require.NoError(t, err)
	require.Len(t, page.Docs, 100)
	// A snapshot, an iterator with its pages, and the records eight, 32 and the rest at
	// once; and what the store's background looks at meanwhile.
	require.LessOrEqual(t, f.Count(faulty.Reads)-before, 12)
}
