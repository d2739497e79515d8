package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
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
	cmd := enginetest.EndWithParent(exec.Command("stubborn"))
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

// A signal ends a daemon that is still opening its store, however long that would take.
func TestASignalEndsAnOpeningThatDoesNotEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	begun, goOn := make(chan struct{}), make(chan struct{})
	defer close(goOn)
	go func() {
		<-begun
		cancel(stopped{syscall.SIGINT})
	}()
	_, err := openUntil(ctx, "dir", func() (*store, error) {
		close(begun)
		<-goOn
		return nil, nil
	})
	require.Equal(t, 128+int(syscall.SIGINT), explain(err).code)
	require.ErrorContains(t, err, "stopped while dir was being opened")
}

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
