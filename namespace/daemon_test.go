package namespace_test

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server"
)

// governor is who takes in ops, and makes them.
type governor interface {
	Apply(ctx context.Context, wire []byte) (namespace.Answer, error)
	Propose(ctx context.Context, ns codec.GroupID, what namespace.Proposal) (namespace.Proposed, error)
}

// daemon is one by its client.
type daemon struct{ *rpc.Namespaces }

func (d daemon) Propose(ctx context.Context, ns codec.GroupID, what namespace.Proposal) (namespace.Proposed, error) {
	done, _, err := d.Namespaces.Propose(ctx, ns, what)
	return done, err
}

// serve has the store of w be a daemon's from now on, which w asks over its socket.
func (w *witness) serve() {
	dir, err := os.MkdirTemp("", "st") // sockets have short names
	require.NoError(w.t, err)
	s, err := server.New(w.db, server.Options{Namespaces: w.store})
	require.NoError(w.t, err)
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	client, err := rpc.Dial(ctx, socket)
	require.NoError(w.t, err)
	w.node = daemon{client.Namespaces()}
	w.stop = func() {
		require.NoError(w.t, client.Close())
		cancel()
		require.NoError(w.t, <-ended)
		require.NoError(w.t, os.RemoveAll(dir))
	}
}
