package namespace

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// Whoever may call can ask for any id: what is not here takes no room once it was answered,
// and what is here stays, also while others ask for it.
func TestNamespacesThatAreNotHereTakeNoRoom(t *testing.T) {
	s := newStore(t, 1)
	here, _, err := s.Create(bg, Create{Alias: codec.Some(codec.AliasName("home"))})
	require.NoError(t, err)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 500 {
				ns := codec.GroupID{1, byte(worker % 2), byte(i), byte(i >> 8)} // two ask for each
				heads, err := s.Heads(bg, ns)
				require.NoError(t, err)
				require.Empty(t, heads)
				_, err = s.Identity(ns)
				require.ErrorIs(t, err, ErrNoIdentity)
				heads, err = s.Heads(bg, here)
				require.NoError(t, err)
				require.NotEmpty(t, heads)
			}
		})
	}
	group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.queues, 1)
	require.NotNil(t, s.queues[here])
}
