package demux

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/rpc/internal/frame"
)

// turnedAway has a listener turn a peer away that begins so, and returns what the peer is told.
func turnedAway(t *testing.T, d *Listener, begin string) string {
	peer, conn := net.Pipe()
	require.NoError(t, peer.SetDeadline(time.Now().Add(time.Minute))) // before it may be closed
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.turnAway(conn, errors.New("too many"))
	}()
	if _, err := peer.Write([]byte(begin)); err != nil {
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}
	told, err := io.ReadAll(peer)
	require.NoError(t, err)
	<-done
	return string(told)
}

// Who speaks frames is told why it is not served; to others that would be no answer.
func TestWhoSpeaksFramesIsToldWhy(t *testing.T) {
	ln, err := net.Listen("unix", t.TempDir()+"/s")
	require.NoError(t, err)
	d := New(ln, &Admission{Greeting: time.Hour}, nil, nil, nil)
	require.Contains(t, turnedAway(t, d, frame.Magic), "too many")
	require.Empty(t, turnedAway(t, d, "PRI "))
	require.Empty(t, turnedAway(t, d, "STR1"))
	require.NoError(t, d.Close())
	require.Empty(t, turnedAway(t, d, frame.Magic[:1]), "nobody is waited for when the listener is closed")
	require.False(t, strings.HasPrefix("PRI ", frame.Magic))
}
