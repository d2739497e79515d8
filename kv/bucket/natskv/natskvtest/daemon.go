// Package natskvtest has a daemon for the tests of natskv and of nats.go.
package natskvtest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// Dial returns a client of a new daemon, which is in memory and ends with the test.
func Dial(t testing.TB) *rpc.Client {
	db, quiet := mem.New(), slog.New(slog.DiscardHandler)
	store, err := kv.Open(db, kv.Options{Log: quiet})
	require.NoError(t, err)
	buckets, err := bucket.New(store, bucket.Options{Log: quiet})
	require.NoError(t, err)
	s, err := server.New(db, server.Options{Buckets: buckets})
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "st") // a name short enough for sockets
	require.NoError(t, err)
	path := filepath.Join(dir, "s")
	ln, err := socket.Listen(path, socket.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	c, err := rpc.Dial(ctx, path, rpc.WithDialTimeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Close() // which the test may have done
		stop()
		require.NoError(t, <-served)
		require.NoError(t, store.Close())
		require.NoError(t, db.Close())
		require.NoError(t, os.RemoveAll(dir))
	})
	return c
}
