package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/cmd/stoa/internal/program"
	"github.com/stoadb/stoa/engine/tikv"
	"github.com/stoadb/stoa/engine/tikv/tikvtest"
)

// daemon is one that serves the store of a cluster.
type daemon struct {
	dir   string
	stop  context.CancelFunc
	ended chan int
	said  *lines
}

// lines is what a daemon writes.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func startDaemon(t *testing.T, c *tikvtest.Cluster, args ...string) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "t") // a path that a socket may have
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &daemon{dir: dir, ended: make(chan int, 1), said: &lines{}}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	f := &flags{}
	e := f.engine(func(log *slog.Logger) (*tikv.Engine, error) {
		return tikv.New(c.KVStore, tikv.Options{Keep: -1, Logger: log})
	})
	go func() {
		d.ended <- program.RunWith(ctx, e, append([]string{"serve", "--engine", "tikv", "--dir", dir}, args...), strings.NewReader(""), io.Discard, d.said, nil)
	}()
	t.Cleanup(func() {
		stop()
		select {
		case code := <-d.ended:
			d.ended <- code
		case <-time.After(time.Minute):
			t.Error("a daemon does not end: " + d.said.String())
		}
	})
	return d
}

// call runs a command against a daemon.
func (d *daemon) call(args ...string) (code int, out, errs string) {
	var o, e strings.Builder
	code = program.Run(append(args, "--dir", d.dir), strings.NewReader(""), &o, &e, nil)
	return code, o.String(), e.String()
}

// until calls a command again until it ends with a code, and what it says has a text.
func (d *daemon) until(t *testing.T, want int, has string, args ...string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		code, out, errs := d.call(args...)
		if code == want && strings.Contains(out+errs, has) {
			return out
		}
		if time.Now().After(deadline) {
			t.Fatalf("stoa %v: %d %s %s\n%s", args, code, out, errs, d.said)
		}
	}
}

func TestADaemonTakesTheLeadOfOneThatStops(t *testing.T) {
	c := tikvtest.Start(t)
	a := startDaemon(t, c)
	a.until(t, 0, "", "status")
	code, out, errs := a.call("kv", "tenants", "create", "acme")
	require.Zero(t, code, out+errs)
	b := startDaemon(t, c)
	b.until(t, cli.ExitOpen, filepath.Join(a.dir, cli.SocketName)+" leads the store", "status")
	code, _, errs = b.call("kv", "get", "k", "--tenant", "acme")
	require.Equal(t, cli.ExitOpen, code, errs)
	require.Contains(t, errs, "ask that one")

	node := a.until(t, 0, `"node_id"`, "status", "--json")
	a.stop()
	b.until(t, 0, "", "status")
	require.Equal(t, nodeOf(t, node), nodeOf(t, b.until(t, 0, `"node_id"`, "status", "--json")), "the store is one node's")
	require.Equal(t, 0, <-a.ended)
	a.ended <- 0
}

func nodeOf(t *testing.T, status string) string {
	t.Helper()
	_, rest, ok := strings.Cut(status, `"node_id":"`)
	require.True(t, ok, status)
	return rest[:32]
}

// Counters that clients count up while daemons come and go are what was acknowledged, or, where nobody was told, one
// more: nothing is lost, and nothing made twice. A daemon that is taken for dead, and is not, ends, and has
// written nothing meanwhile.
func TestNothingIsLostAndNothingMadeTwiceWhileDaemonsComeAndGo(t *testing.T) {
	c := tikvtest.Start(t)
	a := startDaemon(t, c)
	a.until(t, 0, "", "kv", "tenants", "create", "acme")
	b := startDaemon(t, c)
	b.until(t, cli.ExitOpen, "leads the store", "status")
	acknowledged, unclear := 0, 0
	leader, other := a, b
	for round := range 6 {
		for range 5 {
			switch code, _, errs := leader.call("kv", "incr", "n", "--tenant", "acme"); {
			case code == 0:
				acknowledged++
			case strings.Contains(errs, "may or may not"):
				unclear++
			default:
				t.Logf("not counted: %s", errs)
			}
		}
		switch round % 2 {
		case 0: // its time is over, by PD's clock: the other takes its place, and it finds out
			c.Ahead.Add(20_000)
			other.until(t, 0, "", "status")
			code, _, errs := leader.call("kv", "incr", "n", "--tenant", "acme")
			require.NotZero(t, code, errs)
			require.Equal(t, cli.ExitOpen, <-leader.ended, leader.said)
			leader.ended <- 0
			require.Contains(t, leader.said.String(), "another daemon has taken the lead")
		case 1:
			leader.stop()
			other.until(t, 0, "", "status")
		}
		leader, other = other, startDaemon(t, c)
	}
	out := leader.until(t, 0, "", "kv", "get", "n", "--tenant", "acme", "--json")
	_, value, _ := strings.Cut(out, `"value":`)
	n, err := strconv.Atoi(strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '}' })[0])
	require.NoError(t, err, out)
	require.GreaterOrEqual(t, n, acknowledged)
	require.LessOrEqual(t, n, acknowledged+unclear)
	require.Equal(t, 30, acknowledged+unclear, "clients knew where to go")
}

func TestWhatServeIsNotTold(t *testing.T) {
	f := &flags{}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--engine", "tikv"}, "wants the addresses of PD"},
		{[]string{"--engine", "tikvv"}, `is none of [rocks mem tikv]`},
	} {
		var errs strings.Builder
		dir := filepath.Join(t.TempDir(), "d")
		code := program.RunWith(t.Context(), f.engine(f.connect), append([]string{"serve", "--dir", dir}, c.args...), strings.NewReader(""), io.Discard, &errs, nil)
		require.Equal(t, cli.ExitBad, code, errs.String())
		require.Contains(t, errs.String(), c.says)
	}
}
