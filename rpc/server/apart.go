package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// moment is when something was last done, for a watch over idleness. A step of the
// wall clock does not change how long ago that is.
type moment struct{ afterEpoch atomic.Int64 } // nanoseconds

// epoch has a reading of the monotonic clock.
var epoch = time.Now()

func (m *moment) set(now time.Time) { m.afterEpoch.Store(int64(now.Sub(epoch))) }

func (m *moment) time() time.Time { return epoch.Add(time.Duration(m.afterEpoch.Load())) }

// activity is when a stream was last used, for the watch over its idleness.
type activity struct {
	used     moment
	snapshot atomic.Pointer[heldSnapshot] // whose reads count too; may be nil
}

func (a *activity) touch(now time.Time) { a.used.set(now) }

func (a *activity) last() time.Time {
	last := a.used.time()
	if h := a.snapshot.Load(); h != nil && h.used.time().After(last) {
		last = h.used.time()
	}
	return last
}

// apart runs work, the sends and receives of a stream, on a goroutine of its
// own, so that the handler can return, which ends the stream, while work waits
// for a peer that does not read. It returns when work does, or when the server
// stops, the stream has been idle for too long, or ended is closed.
func (s *Server) apart(ctx context.Context, a *activity, ended <-chan struct{}, work func() error) error {
	a.touch(s.o.Now())
	idle := make(chan struct{})
	defer s.watchIdle(a, idle)()
	select {
	case err := <-s.Detached(ctx, work):
		return err
	case <-s.stopping:
		return limit.Stopping()
	case <-idle:
		return fault.New(stoav1.ErrorKind_ERROR_KIND_CLOSED,
			"rpc: closed: the stream was idle for "+s.o.SessionIdle.String())
	case <-ended:
		return fault.New(stoav1.ErrorKind_ERROR_KIND_CLOSED, "rpc: closed: the snapshot that was read")
	}
}

// watchIdle closes idle once a has been idle for too long, unless it is stopped.
func (s *Server) watchIdle(a *activity, idle chan<- struct{}) (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer // guarded by mu; nil once stopped
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(s.o.SessionIdle, func() {
		mu.Lock()
		defer mu.Unlock()
		if timer == nil {
			return
		}
		left := s.o.SessionIdle - s.o.Now().Sub(a.last())
		if left > 0 {
			timer.Reset(left)
			return
		}
		timer = nil
		close(idle)
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if timer != nil {
			timer.Stop()
			timer = nil
		}
	}
}
