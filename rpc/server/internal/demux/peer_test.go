package demux

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAUserGetsOneLineASecond(t *testing.T) {
	var l lines
	now := time.Now()
	more, ok := l.next(7, now)
	require.True(t, ok)
	require.Zero(t, more)
	for range 5 {
		_, ok = l.next(7, now.Add(999*time.Millisecond))
		require.False(t, ok)
	}
	_, ok = l.next(8, now)
	require.True(t, ok, "another user has its own")
	more, ok = l.next(7, now.Add(time.Second))
	require.True(t, ok)
	require.Equal(t, 5, more, "those that were not written are counted")
	for uid := range uint32(4 * manyLines) {
		l.next(100+uid, now.Add(time.Duration(uid)*time.Second))
	}
	require.LessOrEqual(t, len(l.last), manyLines+1, "who has been quiet is forgotten")
}
