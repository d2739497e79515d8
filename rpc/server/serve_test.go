package server

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// patience is how long a test waits for what comes soon, on a machine that may have
// a lot of other work.
const patience = 30 * time.Second

// awaitNoRequests waits until nothing of a request is held. What comes over HTTP/2, frames that
// belong to no call among it, counts until it is complete, and so for a moment after an answer.
func awaitNoRequests(t testing.TB, q *limit.Quota) {
	require.Eventually(t, func() bool { return q.Used() == 0 }, patience, time.Millisecond, "bytes of requests are held")
}

// testDaemon is a server under test.
type testDaemon struct {
	*Server
	path   string
	engine engine.Engine
	stop   func() // drains, and waits for it
}

// start serves eng, or an engine in memory if it is nil, until the test ends.
func start(t testing.TB, eng engine.Engine, o Options) *testDaemon {
	t.Helper()
	if eng == nil {
		eng = mem.New()
	}
	s, err := New(eng, o)
	require.NoError(t, err)
	path := filepath.Join(socketDir(t), "s")
	ln, err := socket.Listen(path, socket.Options{})
	require.NoError(t, err)
	d := &testDaemon{Server: s, path: path, engine: eng}
	d.stop = serve(t, s, ln)
	t.Cleanup(func() {
		d.stop()
		eng.Close()
	})
	return d
}

// serve serves until the function that it returns is called, or the test ends.
func serve(t testing.TB, s *Server, ln net.Listener) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	stopped := false
	return func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-served:
			require.NoError(t, err)
		case <-time.After(patience):
			t.Error("the server does not stop")
		}
	}
}

// socketDir returns a directory whose name is short enough for sockets.
func socketDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (d *testDaemon) dial(t testing.TB) *rpc.Client {
	t.Helper()
	return d.dialAs(t, rpc.FramingAuto)
}

func (d *testDaemon) dialAs(t testing.TB, f rpc.Framing) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial(t.Context(), d.path, rpc.WithFraming(f))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// row returns a key of the scope that is free for tests.
func row(name string) []byte {
	return append([]byte("stoa.test\x00\x00\x00\x00\x00\x00\x00"), name...)
}

func put(t testing.TB, w engine.Writer, name, value string) {
	t.Helper()
	var b engine.Batch
	b.Durability = engine.WAL
	b.Put(column.Generic, row(name), []byte(value))
	require.NoError(t, w.Apply(&b))
}

func TestRowsWrittenOverTheSocketAreReadBack(t *testing.T) {
	c := start(t, nil, Options{}).dial(t)
	put(t, c.Store(t.Context()), "a", "1")
	put(t, c.Store(t.Context()), "empty", "")
	v, err := c.Store(t.Context()).Get(nil, column.Generic, row("a"))
	require.NoError(t, err)
	require.Equal(t, "1", string(v))
	v, err = c.Store(t.Context()).Get([]byte("x"), column.Generic, row("empty"))
	require.NoError(t, err)
	require.Equal(t, "x", string(v))
	_, err = c.Store(t.Context()).Get(nil, column.Generic, row("none"))
	require.ErrorIs(t, err, engine.ErrNotFound)

	it, err := c.Store(t.Context()).Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	n := 0
	for it.Next() {
		n++
	}
	require.NoError(t, it.Err())
	require.Equal(t, 2, n)
}
