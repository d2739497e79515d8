package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// slotDaemon is a daemon in memory that shares pages. Its end waits for all of it.
func slotDaemon(t *testing.T, db engine.Engine, path string, pages int) (stop func()) {
	s, err := server.New(db, server.Options{Raw: true, MaxSharedPages: pages, Logger: slog.New(slog.DiscardHandler), DrainTimeout: time.Millisecond})
	require.NoError(t, err)
	ln, err := socket.Listen(path, socket.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	return sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

func slotKey(i int) []byte {
	return binary.BigEndian.AppendUint32([]byte("slots-test-scope"), uint32(i))
}

// scans demands that a client scans a range as it is, in steps as they are drawn, and reports
// whether it went by slots.
func scans(t *rapid.T, c *rpc.Client, got, want engine.Reader, rg engine.Range) bool {
	slots := c.HasSlots()
	it, err := got.Iterate(column.Generic, rg)
	require.NoError(t, err)
	defer it.Close()
	by := slots && !c.HasSlots()
	model, err := want.Iterate(column.Generic, rg)
	require.NoError(t, err)
	defer model.Close()
	leaves := rapid.IntRange(1, 60_000).Draw(t, "leaves")
	if rapid.Bool().Draw(t, "by pages") {
		var page []byte
		for range leaves / 500 {
			page = it.Page(page[:0], rapid.IntRange(1, 3000).Draw(t, "entries"), rapid.IntRange(1, 1<<20).Draw(t, "bytes"))
			for rest := page; len(rest) > 0; {
				key, value, after, ok := engine.CutEntry(rest)
				require.True(t, ok && model.Next())
				require.True(t, bytes.Equal(key, model.Key()) && bytes.Equal(value, model.Value()))
				rest = after
			}
			if len(page) == 0 {
				require.False(t, model.Next())
				break
			}
		}
		require.NoError(t, it.Err())
		return by
	}
	for n := 0; n < leaves; n++ {
		if !it.Next() {
			require.NoError(t, it.Err())
			require.False(t, model.Next())
			break
		}
		require.True(t, model.Next())
		require.True(t, bytes.Equal(it.Key(), model.Key()) && bytes.Equal(it.Value(), model.Value()))
	}
	return by
}

// What a client scans through slots is what is stored: any range, in any steps, left at any place, beside
// another, of a snapshot.
func TestScansThroughSlotsAreScans(t *testing.T) {
	db := mem.New()
	var b engine.Batch
	const rows = 30_000
	for i := range rows {
		size := 100 + i%400
		switch {
		case i%1000 == 999:
			size = 90 << 10
		case i == rows/2:
			size = shm.SlotSize + 5
		}
		b.Put(column.Generic, slotKey(i), bytes.Repeat([]byte{byte(i), byte(i >> 8)}, size/2))
	}
	require.NoError(t, db.Apply(&b))
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	stop := slotDaemon(t, db, path, 1)
	defer func() { stop() }()
	c, err := rpc.Dial(context.Background(), path)
	require.NoError(t, err)
	defer c.Close()
	store := c.Store(context.Background())
	warm := func() {
		require.Eventually(t, func() bool {
			require.NoError(t, engine.Each(store, column.Generic, engine.Range{}, func(_, _ []byte) error { return nil }))
			return c.HasSlots()
		}, time.Minute, time.Millisecond)
	}
	require.False(t, c.HasSlots())
	warm()
	by := 0
	check := func(t *rapid.T) {
		var read engine.Reader = store
		if rapid.Bool().Draw(t, "snapshot") {
			s, err := store.Snapshot()
			require.NoError(t, err)
			defer s.Close()
			read = s
		}
		draw := func() engine.Range {
			rg := engine.Range{Reverse: rapid.Bool().Draw(t, "reverse")}
			if rapid.Bool().Draw(t, "part") {
				from := rapid.IntRange(0, rows).Draw(t, "from")
				rg.Start, rg.End = slotKey(from), slotKey(rapid.IntRange(from, rows).Draw(t, "to"))
			}
			if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
				rg.Limit = rapid.IntRange(1, rows).Draw(t, "limit")
			}
			return rg
		}
		if rapid.IntRange(0, 3).Draw(t, "beside another") == 0 {
			it, err := read.Iterate(column.Generic, draw())
			require.NoError(t, err)
			defer it.Close()
			it.Next()
		}
		if scans(t, c, read, db, draw()) {
			by++
		}
	}
	rapid.Check(t, check)
	require.NotZero(t, by, "none went by slots")

	it, err := store.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	for range 10_000 {
		require.True(t, it.Next())
	}
	stop()
	for it.Next() {
	}
	require.Error(t, it.Err(), "it is not taken for the end")
	it.Close()
	stop = slotDaemon(t, db, path, 1)
	require.NoError(t, engine.Each(store, column.Generic, engine.Range{}, func(_, _ []byte) error { return nil }))
	warm()

	it, err = store.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	for range 10_000 {
		require.True(t, it.Next())
	}
	require.NoError(t, c.Close())
	for it.Next() {
	}
	require.ErrorIs(t, it.Err(), engine.ErrClosed)
}
