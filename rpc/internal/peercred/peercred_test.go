package peercred

import (
	"net"
	"os"
	"testing"

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
	p, err := Read(in)
	require.NoError(t, err)
	require.Equal(t, Peer{PID: int32(os.Getpid()), UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Groups: p.Groups}, p)

	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	_, err = Read(a)
	require.Error(t, err)
}
