package daemon

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// turns is an engine that is led when the test says so.
type turns struct {
	t     *testing.T
	lead  chan struct{} // closed: this daemon leads
	told  chan string   // who leads meanwhile, once
	lost  chan struct{}
	asked chan cli.EngineOptions
}

func newTurns(t *testing.T) *turns {
	return &turns{t: t, lead: make(chan struct{}), told: make(chan string, 1), lost: make(chan struct{}), asked: make(chan cli.EngineOptions, 1)}
}

func (n *turns) engine() *cli.Engine {
	return &cli.Engine{
		Name:  "turns",
		Flags: func(fs *pflag.FlagSet) { fs.String("where", "", "") },
		Open: func(ctx context.Context, o cli.EngineOptions) (*cli.LedEngine, error) {
			n.asked <- o
			select {
			case at := <-n.told:
				o.Leads(at)
			case <-n.lead:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			select {
			case <-n.lead:
				return &cli.LedEngine{Engine: mem.New(), Node: codec.NodeID{Lo: 9}, Lost: n.lost}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
}

// served runs serve until ctx is done, and returns how it ends.
func served(ctx context.Context, t *testing.T, e *cli.Engine, dir string, args ...string) <-chan error {
	t.Helper()
	p := &cli.Process{Ctx: ctx, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Engine: e}
	root := &cobra.Command{Use: "stoa", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(newServe(p))
	root.SetArgs(append([]string{"serve", "--dir", dir}, args...))
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	return ended
}

func dialed(t *testing.T, dir string) *rpc.Client {
	t.Helper()
	for {
		c, err := rpc.Dial(t.Context(), filepath.Join(dir, cli.SocketName))
		if err == nil {
			t.Cleanup(func() { c.Close() })
			return c
		}
		require.NoError(t, t.Context().Err())
		time.Sleep(5 * time.Millisecond)
	}
}

// until asks again until the error is as wanted: one daemon has taken the place of another on the
// socket.
func until(t *testing.T, dir string, wanted func(*stoav1.StatusResponse, error) bool) {
	t.Helper()
	for {
		c := dialed(t, dir)
		status, err := c.Status(t.Context())
		if wanted(status, err) {
			return
		}
		require.NoError(t, t.Context().Err())
		time.Sleep(5 * time.Millisecond)
	}
}

func TestADaemonWaitsForItsTurnAndSaysWhoLeads(t *testing.T) {
	n := newTurns(t)
	dir := filepath.Join(t.TempDir(), "d")
	ctx, cancel := context.WithCancel(t.Context())
	ended := served(ctx, t, n.engine(), dir, "--engine", "turns", "--where", "x")
	o := <-n.asked
	require.Contains(t, o.Address, filepath.Join(dir, cli.SocketName))
	until(t, dir, func(_ *stoav1.StatusResponse, err error) bool {
		return errors.Is(err, rpc.ErrUnavailable) && strings.Contains(err.Error(), "does not know yet which one does")
	})
	n.told <- "host3:/run/stoa.sock"
	until(t, dir, func(_ *stoav1.StatusResponse, err error) bool {
		return errors.Is(err, rpc.ErrUnavailable) && strings.Contains(err.Error(), "the daemon at host3:/run/stoa.sock leads the store")
	})
	close(n.lead)
	until(t, dir, func(s *stoav1.StatusResponse, err error) bool { return err == nil && s.Engine == "turns" })
	cancel()
	require.NoError(t, <-ended)
}

func TestADaemonThatHasLostItsTurnEnds(t *testing.T) {
	n := newTurns(t)
	dir := filepath.Join(t.TempDir(), "d")
	close(n.lead)
	ended := served(t.Context(), t, n.engine(), dir, "--engine", "turns")
	until(t, dir, func(_ *stoav1.StatusResponse, err error) bool { return err == nil })
	close(n.lost)
	err := <-ended
	require.ErrorIs(t, err, errLead)
	require.Equal(t, cli.ExitOpen, cli.Explain(err).Code)
}

func TestADaemonThatWaitsEndsWhenItIsStopped(t *testing.T) {
	n := newTurns(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := served(ctx, t, n.engine(), filepath.Join(t.TempDir(), "d"), "--engine", "turns")
	<-n.asked
	cancel()
	require.NoError(t, <-ended)
}

// What keeps a daemon from saying who leads is told at once, and not when it leads.
func TestADaemonThatCannotSayWhoLeadsEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, cli.SpoolName), nil, 0o600))
	require.ErrorContains(t, <-served(t.Context(), t, newTurns(t).engine(), dir, "--engine", "turns"), cli.SpoolName)
}

func TestAnotherEngineIsNamed(t *testing.T) {
	err := <-served(t.Context(), t, newTurns(t).engine(), filepath.Join(t.TempDir(), "d"), "--engine", "tikv")
	require.ErrorContains(t, err, `"tikv" is none of [rocks mem turns]`)
	err = <-served(t.Context(), t, nil, filepath.Join(t.TempDir(), "d"), "--engine", "turns")
	require.ErrorContains(t, err, `"turns" is none of [rocks mem]`)
}
