package server

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/rpc"
)

// A server that stands in the place of one that is elsewhere says so to every call, of whoever may do
// everything too, and changes nothing.
func TestAServerThatRefusesSaysWhy(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		eng := mem.New()
		store, err := kv.Open(eng, kv.Options{Clock: kvtest.New(), Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		defer store.Close()
		storage, err := kvstorage.New(store, kvstorage.Options{})
		require.NoError(t, err)
		d := start(t, eng, Options{KV: storage, Refuse: func() error { return errors.New("the daemon at host3:/run/s leads the store: ask that one") }})
		c := d.dialAs(t, f)
		db := c.Store(t.Context())
		var b engine.Batch
		b.Put(column.Generic, row("k"), []byte("v"))
		calls := map[string]error{"Apply": db.Apply(&b)}
		_, calls["Get"] = db.Get(nil, column.Generic, row("k"))
		_, calls["MultiGet"] = db.MultiGet(nil, []engine.Lookup{{Column: column.Generic, Key: row("k")}})
		it, err := db.Iterate(column.Generic, engine.Range{})
		if err == nil {
			require.False(t, it.Next())
			err = it.Err()
		}
		calls["Scan"] = err
		_, calls["KV get"] = c.KV("acme").Get(t.Context(), "k")
		_, calls["KV put"] = c.KV("acme").Put(t.Context(), "k", []byte("1"))
		_, calls["Status"] = c.Status(t.Context())
		for name, err := range calls {
			require.ErrorIs(t, err, rpc.ErrUnavailable, name)
			require.ErrorContains(t, err, "host3:/run/s leads the store", name)
		}
		has, err := d.engine.Iterate(column.Generic, engine.Range{})
		require.NoError(t, err)
		require.False(t, has.Next())
		require.NoError(t, has.Close())
	})
}
