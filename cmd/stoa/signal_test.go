package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// stubborn is a program that goes on after the first signal, as a daemon whose
// calls do not finish.
func stubborn() {
	ctx, forget := untilSignal(slog.New(slog.DiscardHandler))
	defer forget()
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("stopping")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

func TestASecondSignalEndsTheDaemonAtOnce(t *testing.T) {
	cmd := exec.Command("stubborn")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for _, word := range []string{"ready", "stopping"} {
		require.True(t, lines.Scan())
		require.Equal(t, word, lines.Text())
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	}
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 128+int(syscall.SIGTERM), exit.ExitCode())
}
