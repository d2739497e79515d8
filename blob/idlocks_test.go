package blob

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

func TestALockOfAnIDIsHeldByOne(t *testing.T) {
	var l idLocks
	counts := make([]int, 3)
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			id := codec.BlobID{byte(i % len(counts))}
			unlock, err := l.lock(context.Background(), id)
			require.NoError(t, err)
			counts[id[0]]++ // the race detector sees whoever else is here
			unlock()
		})
	}
	all.Wait()
	require.Equal(t, []int{20, 20, 20}, counts)
	require.Empty(t, l.held, "locks that nobody holds take no memory")
}

func TestALockIsWaitedForNoLongerThanTheContext(t *testing.T) {
	var l idLocks
	unlock, err := l.lock(context.Background(), codec.BlobID{1})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = l.lock(ctx, codec.BlobID{1})
	require.ErrorIs(t, err, context.Canceled)
	_, free := l.tryLock(codec.BlobID{1})
	require.False(t, free)
	unlock()
	unlock, free = l.tryLock(codec.BlobID{1})
	require.True(t, free)
	unlock()
	require.Empty(t, l.held)
}
