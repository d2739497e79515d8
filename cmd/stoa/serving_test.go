package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// serving serves an engine in memory and returns the path of the socket.
func serving(t *testing.T, store engine.Engine) string {
	return servingWith(t, store, server.Options{})
}

// servingWith is serving with options.
func servingWith(t *testing.T, store engine.Engine, o server.Options) string {
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	o.Blobs, err = blob.Open(store, blob.Options{SpoolDir: filepath.Join(dir, cli.SpoolName)})
	require.NoError(t, err)
	srv, err := server.New(store, o)
	require.NoError(t, err)
	ln, err := socket.Listen(filepath.Join(dir, cli.SocketName), socket.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- srv.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
		require.NoError(t, o.Blobs.Close())
		require.NoError(t, store.Close())
		require.NoError(t, os.RemoveAll(dir))
	})
	return ln.Path()
}
