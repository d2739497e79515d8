package agents

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/event"
)

// Who follows a stream that has never had an entry is told too, where all of the first of
// them have gone while the daemon was away.
func TestWhoFollowsNeverGoesOnBehindAGap(t *testing.T) {
	var w eventFollower
	require.ErrorIs(t, w.heard(event.ID{Ms: 5, Seq: 2}), event.ErrTrimmed)
	require.NoError(t, w.heard(event.ID{Ms: 5, Seq: 1}))
	require.NoError(t, w.heard(event.ID{Ms: 5, Seq: 2}))
	err := w.heard(event.ID{Ms: 9, Seq: 4})
	var e *event.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, event.ID{Ms: 9, Seq: 4}, e.First)
}
