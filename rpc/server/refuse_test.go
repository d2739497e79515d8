package server

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
)

// A server that stands in the place of one that is elsewhere says so to every call, of whoever may do
// everything too, and changes nothing.
func TestAServerThatRefusesSaysWhy(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := start(t, nil, Options{Refuse: func() error { return errors.New("the daemon at host3:/run/s leads the store: ask that one") }})
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
