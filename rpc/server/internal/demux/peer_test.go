package demux

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// socketDir returns a directory whose name is short enough for sockets.
func socketDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestTheKernelTellsWhoConnects(t *testing.T) {
	path := socketDir(t) + "/s"
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer ln.Close()
	out, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer out.Close()
	in, err := ln.Accept()
	require.NoError(t, err)
	defer in.Close()
	p, err := ReadPeer(in)
	require.NoError(t, err)
	require.Equal(t, Peer{PID: int32(os.Getpid()), UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Groups: p.Groups}, p)

	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	_, err = ReadPeer(a)
	require.Error(t, err)
}

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
