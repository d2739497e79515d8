package lock_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// Nothing of a write that is fenced is there.
func TestA7AFencedWriteLeavesNothing(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	write := h.Writes()["a unit of work"]
	require.ErrorIs(t, write(Guard{Task("1"), 7}), ErrFenced)
	space, err := h.KV.Space("t", kv.SystemTest, locktest.Plain.Space)
	require.NoError(t, err)
	_, err = space.Get([]byte("k"))
	require.True(t, errors.Is(err, kv.ErrNotFound))
}

func TestAGuardOfATenantThatIsGone(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	g := h.Take("a", Task("1"), Exclusive)
	write := h.Writes()["a unit of work"]
	require.NoError(t, write(Guard{Task("1"), g.Token}))
	_, err := h.KV.DropTenant(ctx, "t")
	require.NoError(t, err)
	write = h.Writes()["a unit of work"]
	require.ErrorIs(t, write(Guard{Task("1"), g.Token}), ErrFenced)
}
