package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// A watcher that comes too late for the log is told so, once.
func TestA31AWatcherThatMissedSomething(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	for range 4500 {
		h.Take("a", Task("1"), Exclusive)
		h.Free("a", Task("1"))
	}
	missed := h.Watched(WatchOptions{Resume: true}, 1)[0]
	require.Equal(t, EventMissed, missed.Kind)
	require.EqualValues(t, 9000, missed.Revision)
}
