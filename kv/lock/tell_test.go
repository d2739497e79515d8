package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// Locks that were held before there were streams are freed all the same.
func TestLocksOfATimeWithoutStreamsExpire(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	h.Take("a", Task("1"), Exclusive)
	h.End()
	h = locktest.Open(t, locktest.Setup{DB: h.DB, Clock: h.Clock, Told: true})
	h.Clock.Pass(31 * time.Second)
	h.Soon("it expires", func() bool { // a watch would begin a stream
		stats, err := h.Space("t").Stats()
		require.NoError(t, err)
		return stats.Revision == 2
	})
	require.Empty(t, h.Entries())
	h.Take("b", Task("1"), Exclusive)
	require.Len(t, h.Entries(), 1)
}
