package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
)

func TestAClockThatJumpsStampsNothingUntilItIsConfirmed(t *testing.T) {
	d := startDagOn(t, 1, Options{}, &hlc.Uptime{Boot: [16]byte{1}, Elapsed: func() time.Duration { return time.Hour }})
	require.NoError(t, d.dag.CreateContext(t.Context(), room, codec.ApplicationMeta{}))
	d.commit(t, "a", "1")
	begun := time.Unix(0, d.now.Load()).UTC()
	state, err := d.dag.Clock(t.Context())
	require.NoError(t, err)
	require.Equal(t, hlc.State{Physical: begun, Expected: begun, Last: state.Last}, state)
	require.WithinDuration(t, begun, state.Last, time.Second)

	d.now.Add(int64(10 * 365 * 24 * time.Hour))
	jumped := time.Unix(0, d.now.Load()).UTC()
	_, root, err := d.dag.Heads(t.Context(), room)
	require.NoError(t, err)
	_, err = d.dag.Commit(t.Context(), dag.Commit{Context: room, ReadRoot: root})
	require.ErrorIs(t, err, hlc.ErrJumped)
	state, err = d.dag.Clock(t.Context())
	require.NoError(t, err)
	require.Equal(t, hlc.State{Physical: jumped, Expected: begun, Jumped: true, Last: state.Last}, state)

	state, err = d.dag.ConfirmClock(t.Context())
	require.NoError(t, err)
	require.False(t, state.Jumped)
	d.commit(t, "a", "2")
}
