package rpc

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// snapshot is the daemon's store as it was at one moment. A session holds it.
type snapshot struct {
	store  Store // its context ends with the snapshot
	cancel context.CancelFunc
	stream grpc.BidiStreamingClient[stoav1.SessionRequest, stoav1.SessionResponse]
	id     uint64
	closed atomic.Bool
}

var _ engine.Snapshot = (*snapshot)(nil)

// Snapshot returns the store as it is now. It must be closed; it ends with the connection,
// with the context of s, and after the daemon's idle limit without a read. It returns
// ErrBusy if the daemon holds as many as it may.
func (s *Store) Snapshot() (engine.Snapshot, error) {
	ctx, cancel := context.WithCancel(s.ctx)
	of := &snapshot{store: Store{c: s.c, ctx: ctx}, cancel: cancel}
	if err := of.open(); err != nil {
		cancel()
		return nil, err
	}
	return of, nil
}

func (s *snapshot) open() (err error) {
	if s.stream, err = s.store.c.store.Session(s.store.ctx); err != nil {
		return s.store.c.failed("snapshot", err)
	}
	ask := &stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Snapshot{Snapshot: &stoav1.SessionSnapshotRequest{}}}
	if err := s.stream.Send(ask); err != nil {
		_, err = s.stream.Recv() // what Send failed with
		return s.store.c.failed("snapshot", err)
	}
	answer, err := s.stream.Recv()
	if err != nil {
		return s.store.c.failed("snapshot", err)
	}
	if e := answer.GetError(); e != nil {
		return fault.FromSession(e)
	}
	s.id = answer.GetSnapshot().GetSnapshot()
	if s.id == 0 {
		return fmt.Errorf("rpc: snapshot: %w: the daemon named none", ErrInternal)
	}
	return nil
}

// Get appends the value of a row to dst, as [engine.Getter] has it.
func (s *snapshot) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if s.closed.Load() {
		return dst, engine.ErrClosed
	}
	return s.store.get(dst, col, key, s.id)
}

// MultiGet reads rows at once, with the limits of [Store.MultiGet].
func (s *snapshot) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	if s.closed.Load() {
		return buf, engine.ErrClosed
	}
	return s.store.multiGet(buf, lookups, s.id)
}

// Iterate reads a range as [Store.Iterate] does. The iterator ends with the snapshot.
func (s *snapshot) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	if s.closed.Load() {
		return nil, engine.ErrClosed
	}
	return s.store.iterate(col, r, s)
}

// closeWait is how long Close waits for a daemon that does not answer.
const closeWait = 2 * time.Second

// Close gives the snapshot back, and waits until the daemon has done so. It
// returns ErrClosed if that was done before, by closing the client too.
func (s *snapshot) Close() error {
	if s.closed.Swap(true) {
		return engine.ErrClosed
	}
	defer s.cancel()
	if s.store.c.closed() {
		return engine.ErrClosed
	}
	defer time.AfterFunc(closeWait, s.cancel).Stop()
	if err := s.stream.CloseSend(); err != nil {
		return nil
	}
	for {
		if _, err := s.stream.Recv(); err != nil {
			return nil // whatever it is, the daemon holds nothing any more
		}
	}
}
