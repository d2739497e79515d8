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

// Snapshot is the daemon's store as it was at one moment, an engine.Snapshot.
// A session holds it: it ends with the connection, with the context of the
// client that took it, and after the daemon's idle limit without a read.
type Snapshot struct {
	client *Client
	ctx    context.Context // ends with the snapshot
	cancel context.CancelFunc
	stream grpc.BidiStreamingClient[stoav1.SessionRequest, stoav1.SessionResponse]
	id     uint64
	closed atomic.Bool
}

var _ engine.Snapshot = (*Snapshot)(nil)

// Snapshot returns the store as it is now, a *Snapshot. It must be closed. It
// returns ErrBusy if the daemon holds as many as it may.
func (c *Client) Snapshot() (engine.Snapshot, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	s := &Snapshot{client: c, ctx: ctx, cancel: cancel}
	if err := s.open(); err != nil {
		cancel()
		return nil, err
	}
	return s, nil
}

func (s *Snapshot) open() (err error) {
	if s.stream, err = s.client.store.Session(s.ctx); err != nil {
		return s.client.failed("snapshot", err)
	}
	ask := &stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Snapshot{Snapshot: &stoav1.SessionSnapshotRequest{}}}
	if err := s.stream.Send(ask); err != nil {
		_, err = s.stream.Recv() // what Send failed with
		return s.client.failed("snapshot", err)
	}
	answer, err := s.stream.Recv()
	if err != nil {
		return s.client.failed("snapshot", err)
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

// Get is engine.Getter's.
func (s *Snapshot) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if s.closed.Load() {
		return dst, engine.ErrClosed
	}
	return s.client.get(dst, col, key, s.id)
}

// MultiGet is engine.Reader's, with the limits of Client.MultiGet.
func (s *Snapshot) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	if s.closed.Load() {
		return buf, engine.ErrClosed
	}
	return s.client.multiGet(buf, lookups, s.id)
}

// Iterate is engine.Reader's. The iterator ends with the snapshot.
func (s *Snapshot) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	if s.closed.Load() {
		return nil, engine.ErrClosed
	}
	return s.client.iterate(s.ctx, col, r, s)
}

// closeWait is how long Close waits for a daemon that does not answer.
const closeWait = 2 * time.Second

// Close gives the snapshot back, and waits until the daemon has done so. It
// returns ErrClosed if that was done before, by closing the client too.
func (s *Snapshot) Close() error {
	if s.closed.Swap(true) {
		return engine.ErrClosed
	}
	defer s.cancel()
	if s.client.closed() {
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
