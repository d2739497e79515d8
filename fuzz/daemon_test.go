package fuzz

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// daemon is a client of a daemon in this process. Closing it ends the daemon.
type daemon struct {
	*rpc.Store
	client *rpc.Client
	stop   func() error
}

// openDaemon returns what serves a store in memory over a socket, by way of a
// framing. It does not use the directory, whose name may be too long for one.
func openDaemon(f rpc.Framing) func(testing.TB, string) enginetest.DB {
	return func(t testing.TB, _ string) enginetest.DB { return serveMemory(t, f) }
}

func serveMemory(t testing.TB, f rpc.Framing) enginetest.DB {
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	path := filepath.Join(dir, "s")
	eng := mem.New()
	s, err := server.New(eng, server.Options{})
	require.NoError(t, err)
	ln, err := socket.Listen(path, socket.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	client, err := rpc.Dial(ctx, path, rpc.WithFraming(f))
	require.NoError(t, err)
	return &daemon{client.Store(context.Background()), client, func() error {
		cancel()
		return errors.Join(<-served, eng.Close(), os.RemoveAll(dir))
	}}
}

func (d *daemon) Close() error { return errors.Join(d.client.Close(), d.stop()) }
