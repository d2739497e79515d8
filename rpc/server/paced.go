package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Streams of which there may be a limited number, as the field of ErrorKind BUSY has them.
const (
	whatDagStreams = "streams of deltas"
	whatGovStreams = "streams of ops"
	whatKVStreams  = "streams of key-values"
	whatLockWaits  = "requests for locks"
	whatTransfers  = "transfers of blobs"

	whatGRPCStreams = "streams of gRPC"
)

// uploadBytes is what an upload counts among the bytes of requests under way: a
// message, and the chunk that it goes to.
const uploadBytes = 2 << 20

// drainIdle is how long a client may keep a transfer waiting when the server
// stops: one that goes on may finish, one that hangs does not hold it up.
const drainIdle = 2 * time.Second

// moment is when something was last done, for a watch over idleness. A step of the
// wall clock does not change how long ago that is.
type moment struct{ afterEpoch atomic.Int64 } // nanoseconds

// epoch has a reading of the monotonic clock.
var epoch = time.Now()

func (m *moment) set(now time.Time) { m.afterEpoch.Store(int64(now.Sub(epoch))) }

func (m *moment) time() time.Time { return epoch.Add(time.Duration(m.afterEpoch.Load())) }

// peerWait tells since when a stream waits for its client.
type peerWait struct {
	now   func() time.Time
	waits atomic.Bool
	since moment                       // if it waits
	held  atomic.Pointer[heldSnapshot] // a snapshot whose reads count too; may be nil
}

// During calls fn, which waits for the client.
func (w *peerWait) During(fn func() error) error {
	w.since.set(w.now())
	w.waits.Store(true)
	defer w.waits.Store(false)
	return fn()
}

// left returns how long the client may still keep the stream waiting.
func (w *peerWait) left(limit time.Duration) time.Duration {
	if !w.waits.Load() {
		return limit
	}
	now, since := w.now(), w.since.time() // in this order: a read in between makes it longer
	if h := w.held.Load(); h != nil && h.used.time().After(since) {
		since = h.used.time()
	}
	return limit - now.Sub(since)
}

// receive receives a message while the client may keep the stream waiting.
func receive[M any](w *peerWait, recv func() (M, error)) (m M, err error) {
	err = w.During(func() (err error) {
		m, err = recv()
		return err
	})
	return m, err
}

// ahead receives messages into a queue, on a goroutine of its own, which says what it
// ended with.
func ahead[M any](ctx context.Context, s *Server, recv func() (M, error), size func(M) int) (*op.Queue[M], <-chan error) {
	bytes := op.QueueBytes
	if accountOf(ctx).Limited() {
		bytes = limitedQueue
	}
	q := op.NewQueue[M](bytes)
	return q, s.Detached(ctx, func() error {
		defer q.Close()
		for {
			m, err := recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil || !q.Put(ctx, m, size(m)+64) {
				return err
			}
		}
	})
}

// limitedQueue is how many bytes of messages wait on a stream of a user who may not do
// everything, beside those that gRPC or its connection has.
const limitedQueue = 64 << 10

// pacedStream runs work, one of the streams that open counts, as paced does.
func (s *Server) pacedStream(ctx context.Context, open *limit.Quota, work func(context.Context, *peerWait) error) error {
	a := accountOf(ctx)
	if err := open.Take(a, 1); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.paced(ctx, s.o.SessionIdle, 0, nil, func(wait *peerWait) error {
		defer open.Give(a, 1)
		return work(ctx, wait)
	})
}

// transfer runs work, an upload or a download, as paced does: it counts so many bytes among
// those under way, and may go on for a while when the server stops.
func (s *Server) transfer(ctx context.Context, bytes int64, work func(context.Context, *peerWait) error) error {
	a := accountOf(ctx)
	if err := s.transfers.Take(a, 1); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.paced(ctx, s.o.TransferIdle, drainIdle, nil, func(wait *peerWait) error {
		defer s.transfers.Give(a, 1)
		if err := s.inFlight.Take(a, bytes); err != nil {
			return err
		}
		defer s.inFlight.Give(a, bytes)
		return work(ctx, wait)
	})
}

// paced runs work, a stream, on a goroutine of its own, and returns when work does, when
// the client keeps it waiting for longer than idle, when ended is closed, or when the server
// stops and the client keeps it waiting for longer than drain. That ends the stream, so that
// work ends too, and with it everything it holds: the lock of an id, a snapshot. A write that
// it has begun is finished first.
func (s *Server) paced(ctx context.Context, idle, drain time.Duration, ended <-chan struct{}, work func(*peerWait) error) error {
	wait := &peerWait{now: s.o.Now}
	done := s.Detached(ctx, func() error { return work(wait) })
	stopping := s.stopping
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ended:
			return fault.New(stoav1.ErrorKind_ERROR_KIND_CLOSED, "rpc: closed: the snapshot that was read")
		case <-stopping:
			stopping, idle = nil, min(idle, drain)
		case <-timer.C:
		}
		left := wait.left(idle)
		switch {
		case left > 0:
			timer.Reset(left)
		case stopping == nil:
			return limit.Stopping()
		default:
			return fault.New(stoav1.ErrorKind_ERROR_KIND_CLOSED, "rpc: closed: the client kept the stream waiting for "+idle.String())
		}
	}
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
