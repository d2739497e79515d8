package server

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// uploadBytes is what an upload counts among the bytes of requests under way: a
// message, and the chunk that it goes to.
const uploadBytes = 2 << 20

const whatTransfers = "transfers of blobs"

// drainIdle is how long a client may keep a transfer waiting when the server
// stops: one that goes on may finish, one that hangs does not hold it up.
const drainIdle = 2 * time.Second

// peerWait tells since when a transfer waits for its client.
type peerWait struct {
	now   func() time.Time
	waits atomic.Bool
	since moment // if it waits
}

// During calls fn, which waits for the client.
func (w *peerWait) During(fn func() error) error {
	w.since.set(w.now())
	w.waits.Store(true)
	defer w.waits.Store(false)
	return fn()
}

// left returns how long the client may still keep the transfer waiting.
func (w *peerWait) left(limit time.Duration) time.Duration {
	if !w.waits.Load() {
		return limit
	}
	return limit - w.now().Sub(w.since.time())
}

// transfer runs work, an upload or a download, on a goroutine of its own, and
// returns when work does, or when the client keeps it waiting for too long. That
// ends the stream, so that work ends too, and with it everything it holds: the
// lock of an id, a snapshot.
func (s *Server) transfer(ctx context.Context, bytes int64, work func(context.Context, *peerWait) error) error {
	if err := s.transfers.Take(1); err != nil {
		return err
	}
	if err := s.inFlight.Take(bytes); err != nil {
		s.transfers.Give(1)
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wait := &peerWait{now: s.o.Now}
	done := s.Detached(ctx, func() error {
		defer s.transfers.Give(1)
		defer s.inFlight.Give(bytes)
		return work(ctx, wait)
	})
	return s.watch(wait, done)
}

// Detached runs work on a goroutine of its own, and says what it returned.
func (s *Server) Detached(ctx context.Context, work func() error) <-chan error {
	done := make(chan error, 1)
	s.streams.Add(1)
	go func() {
		defer s.streams.Done()
		var err error
		defer func() { done <- err }()
		defer func() {
			if p := recover(); p != nil {
				err = s.fault(ctx, "stream", fmt.Errorf("panic: %v", p), slog.String("stack", string(debug.Stack())))
			}
		}()
		err = work()
	}()
	return done
}

// watch returns what done says, unless the client keeps the transfer waiting for
// too long.
func (s *Server) watch(wait *peerWait, done <-chan error) error {
	idle, stopping := s.o.TransferIdle, s.stopping
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-stopping:
			stopping, idle = nil, min(idle, drainIdle)
		case <-timer.C:
		}
		left := wait.left(idle)
		switch {
		case left > 0:
			timer.Reset(left)
		case stopping == nil:
			return limit.Stopping()
		default:
			return fault.New(stoav1.ErrorKind_ERROR_KIND_CLOSED,
				"rpc: the client kept the transfer of a blob waiting for "+idle.String()+", so it was ended")
		}
	}
}
