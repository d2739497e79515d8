//go:build cgo

package rocks

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func TestTheLastSlowWriteIsKnown(t *testing.T) {
	var now, each atomic.Int64 // ns, and how long the clock goes on with each look
	e := open(t, t.TempDir(), Options{Now: func() time.Time { return time.Unix(0, now.Add(each.Load())) }})
	slow := func() engine.SlowWrite {
		s, err := e.Stats()
		require.NoError(t, err)
		return s.SlowWrite
	}
	each.Store(int64(slowWrite) - 1)
	put(t, e, engine.Synced, column.Generic, "k", "v")
	require.Zero(t, slow())
	each.Store(int64(slowWrite))
	put(t, e, engine.Synced, column.Generic, "k", "v")
	got := slow()
	require.Equal(t, slowWrite, got.Took)
	require.False(t, got.Stalled)
	each.Store(0)
	put(t, e, engine.Synced, column.Generic, "k", "v")
	require.Equal(t, got, slow(), "it is the last one that was slow")
	require.Equal(t, time.Unix(0, now.Load()), got.Ended)
}
