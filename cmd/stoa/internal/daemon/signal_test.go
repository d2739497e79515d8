package daemon

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/enginetest"
)

func TestASecondSignalEndsTheDaemonAtOnce(t *testing.T) {
	if os.Getenv("STUBBORN") != "" { // this test again, as a daemon whose calls do not finish
		ctx, forget := untilSignal(t.Context(), slog.New(slog.DiscardHandler))
		defer forget()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("stopping")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		return
	}
	cmd := enginetest.EndWithParent(exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$"))
	cmd.Env = append(os.Environ(), "STUBBORN=1")
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
	require.Equal(t, 128+int(syscall.SIGINT), cli.Explain(err).Code)
	require.ErrorContains(t, err, "stopped while dir was being opened")
}
