package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// patience is how long a test waits for what comes soon, on a machine that may have a lot of
// other work.
const patience = 30 * time.Second

// host is the capabilities of a store as the daemon runs them, by a clock by hand, and a
// client of them.
type host struct {
	*rpc.Client
	own   *capabilities
	path  string // of the socket
	t     testing.TB
	db    engine.Engine
	clock *kvtest.Clock
	end   func() // ends all but the engine
}

// hosted serves the capabilities of a store; jobs of the queues that are off are left to
// workers outside.
func hosted(t testing.TB, db engine.Engine, clock *kvtest.Clock, off ...string) *host {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	blobs, err := blob.Open(db, blob.Options{SpoolDir: filepath.Join(t.TempDir(), "spool"), Logger: quiet})
	require.NoError(t, err)
	c, err := openCapabilities(db, capabilityOptions{clock: clock, off: off, blobs: blobs, log: quiet})
	require.NoError(t, err)
	o := server.Options{Blobs: blobs, Logger: quiet}
	c.served(&o)
	srv, err := server.New(db, o)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "st") // short enough for sockets
	require.NoError(t, err)
	ln, err := socket.Listen(filepath.Join(dir, "s"), socket.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, ln) }()
	client, err := rpc.Dial(t.Context(), ln.Path())
	require.NoError(t, err)
	ended := false
	h := &host{Client: client, own: c, path: ln.Path(), t: t, db: db, clock: clock, end: func() {
		if ended {
			return
		}
		ended = true
		_ = client.Close() // what it was told is looked at, not how it ends
		stop()
		require.NoError(t, <-served)
		require.NoError(t, errors.Join(c.Close(), blobs.Close(), os.RemoveAll(dir)))
	}}
	t.Cleanup(h.end)
	return h
}

// sound demands that a full verification finds nothing in what is at rest.
func sound(t testing.TB, db engine.Engine) {
	t.Helper()
	verdict, err := inspect.Verify(t.Context(), inspect.From(db, inspect.Facts{}), inspect.VerifyOptions{Full: true}, func(f inspect.Finding) error {
		t.Error(f.String())
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, verdict.Rows)
}

// soon waits for what comes by itself, while time passes bit by bit.
func (h *host) soon(what string, done func() bool) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		if done() {
			return true
		}
		h.clock.Pass(10 * time.Millisecond)
		return false
	}, patience, time.Millisecond, what)
}

// rows counts the rows of a shape in whose key a text is.
func (h *host) rows(shape kv.Shape, text string) (n int) {
	h.t.Helper()
	it, err := h.db.Iterate(column.Generic, engine.Range{Start: []byte{0}, End: []byte{1}})
	require.NoError(h.t, err)
	defer it.Close()
	for it.Next() {
		row, err := kv.ParseRow(it.Key())
		require.NoError(h.t, err)
		if row.Shape == shape && bytes.Contains(it.Key(), []byte(text)) {
			n++
		}
	}
	require.NoError(h.t, it.Err())
	return n
}
