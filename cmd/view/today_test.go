package view

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// throughDaemon returns the server of the sample as a daemon serves it
// to users that may not read its secrets.
func (s *sample) throughDaemon(t *testing.T) *Server {
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "stoa.sock")
	var peers access.Table
	require.NoError(t, peers.User(uint32(os.Geteuid()), access.Rights{Roles: access.All &^ access.Secrets}))
	daemon, err := server.New(s.store, server.Options{Peers: &peers})
	require.NoError(t, err)
	ln, err := socket.Listen(path, socket.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- daemon.Serve(ctx, ln) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-done) })
	srv, err := New(Options{Open: func() (*inspect.Source, error) {
		c, err := rpc.Dial(ctx, path)
		if err != nil {
			return nil, err
		}
		return inspect.Through(ctx, c)
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

func TestTheSequenceOfADaemonIsThatOfNow(t *testing.T) {
	sample := newSample(t, 1)
	s := sample.throughDaemon(t)
	begun := ask[factsDoc](t, s, "store")
	require.Equal(t, begun.Shown, begun.Store.Sequence)
	for i := range 3 {
		sample.put(t, func(b *engine.Batch) {
			b.Put(column.Generic, append([]byte("stoa.test\x00\x00\x00\x00\x00\x00\x00k"), byte(i)), []byte("v"))
		})
		now := ask[factsDoc](t, s, "store")
		stats, err := sample.store.Stats()
		require.NoError(t, err)
		require.Equal(t, stats.Sequence, now.Store.Sequence)
		require.Greater(t, now.Store.Sequence, begun.Store.Sequence)
		require.Equal(t, begun.Shown, now.Shown, "the rows are those of the start")
	}
}

// A daemon keeps secrets from whom it does not name; the rest of governance is shown all
// the same.
func TestGovernanceIsShownWithoutTheRightToSecrets(t *testing.T) {
	c := newCommons(t)
	s := c.throughDaemon(t)
	status, _ := get(s, "api/rows?column=Identity")
	require.Equal(t, 403, status)
	require.Contains(t, labels(ask[Graph](t, s, "ops", "namespace", c.namespace.String())), "opened | member added in home: member bob, role member | alice | effective")
}
