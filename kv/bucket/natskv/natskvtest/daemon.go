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
	path := Path(t)
	stop := Serve(t, path)
	c, err := rpc.Dial(context.Background(), path, rpc.WithDialTimeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Close() // which the test may have done
		stop()
	})
	return c
}

// Path returns where a daemon can listen until the test ends.
func Path(t testing.TB) string {
	dir, err := os.MkdirTemp("", "st") // a name short enough for sockets
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "s")
}

// Serve runs a new daemon in memory at a path, which has some buckets of the tenant acme, until stop
// is called.
func Serve(t testing.TB, path string, has ...bucket.Config) (stop func()) {
	db, quiet := mem.New(), slog.New(slog.DiscardHandler)
	store, err := kv.Open(db, kv.Options{Log: quiet})
	require.NoError(t, err)
	buckets, err := bucket.New(store, bucket.Options{Log: quiet})
	require.NoError(t, err)
	for _, c := range has {
		_, err := buckets.Create(context.Background(), "acme", c)
		require.NoError(t, err)
	}
	s, err := server.New(db, server.Options{Buckets: buckets, DrainTimeout: time.Millisecond})
	require.NoError(t, err)
	ln, err := socket.Listen(path, socket.Options{})
	require.NoError(t, err)
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	return func() {
		end()
		<-served
		require.NoError(t, store.Close())
		require.NoError(t, db.Close())
	}
}
