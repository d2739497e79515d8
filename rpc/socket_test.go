package rpc

import (
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASocketThatKeepsUsOutIsNoMissingDaemon(t *testing.T) {
	err := noDaemon("/run/s", &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)})
	require.ErrorIs(t, err, ErrRefused)
	require.NotErrorIs(t, err, ErrNoDaemon)
	require.ErrorContains(t, err, "no permission to connect to /run/s")
}
