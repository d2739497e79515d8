package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

func TestAnUploadIsInterruptedWhileItsContentKeepsItWaiting(t *testing.T) {
	cmd := enginetest.EndWithParent(exec.Command("stoa", "blob", "put", "-", "--socket", serving(t, mem.New())))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	var errs strings.Builder
	cmd.Stderr = &errs
	require.NoError(t, cmd.Start())
	_, err = in.Write(make([]byte, 4<<20)) // more than pipes hold: it has been read
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, "stoa: interrupted: nothing of the blob is left behind\n", errs.String())
}
