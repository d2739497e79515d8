package server

import (
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// stubEngine is an engine in memory that can be made to fail, to wait, and that
// counts what is open.
type stubEngine struct {
	*mem.Engine
	mu    sync.Mutex
	get   func() error // before every Get, if set
	apply func() error // before every Apply, if set
	flush func() error // in place of Flush, if set
	check func(string) error

	snapshots atomic.Int64
	iterators atomic.Int64
}

func newStub() *stubEngine { return &stubEngine{Engine: mem.New()} }

func (e *stubEngine) failGet(f func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.get = f
}

func (e *stubEngine) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	e.mu.Lock()
	f := e.get
	e.mu.Unlock()
	if f != nil {
		if err := f(); err != nil {
			return dst, err
		}
	}
	return e.Engine.Get(dst, col, key)
}

func (e *stubEngine) Apply(b *engine.Batch) error {
	if e.apply != nil {
		if err := e.apply(); err != nil {
			return err
		}
	}
	return e.Engine.Apply(b)
}

func (e *stubEngine) Flush() error {
	if e.flush != nil {
		return e.flush()
	}
	return e.Engine.Flush()
}

func (e *stubEngine) Checkpoint(dir string) error {
	if e.check != nil {
		return e.check(dir)
	}
	return e.Engine.Checkpoint(dir)
}

func (e *stubEngine) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	it, err := e.Engine.Iterate(col, r)
	if err != nil {
		return nil, err
	}
	e.iterators.Add(1)
	return engine.NewIterator(&stubPager{it: it, open: &e.iterators}, 0), nil
}

func (e *stubEngine) Snapshot() (engine.Snapshot, error) {
	s, err := e.Engine.Snapshot()
	if err != nil {
		return nil, err
	}
	e.snapshots.Add(1)
	return &stubSnapshot{Snapshot: s, open: &e.snapshots}, nil
}

type stubSnapshot struct {
	engine.Snapshot
	open *atomic.Int64
}

func (s *stubSnapshot) Close() error {
	s.open.Add(-1)
	return s.Snapshot.Close()
}

type stubPager struct {
	it   *engine.Iterator
	open *atomic.Int64
	once sync.Once
}

func (p *stubPager) Page(dst []byte, entries, bytes int) ([]byte, int, error) {
	n := len(dst)
	dst = p.it.Page(dst, entries, bytes)
	if len(dst) == n {
		return dst, 0, p.it.Err()
	}
	return dst, p.it.PageEntries(), nil
}

func (p *stubPager) Close() error {
	p.once.Do(func() { p.open.Add(-1) })
	return p.it.Close()
}

// bare returns a connection for the generated stubs.
func (d *testDaemon) bare(t testing.TB) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+d.path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(1<<30), grpc.MaxCallRecvMsgSize(1<<30)))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}
