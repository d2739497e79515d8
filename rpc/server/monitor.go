package server

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// monitored is how many calls wait for a monitor that is behind.
const monitored = 4096

// monitors are those who are told of calls as they end.
type monitors struct {
	some atomic.Bool // whether there are any
	mu   sync.Mutex
	all  map[*monitor]struct{}
}

// monitor is one of them.
type monitor struct {
	backend.MonitorOptions
	calls  chan backend.Call
	missed uint64 // since the last that was sent; guarded by monitors.mu
}

func (m *monitors) add(o backend.MonitorOptions) *monitor {
	one := &monitor{MonitorOptions: o, calls: make(chan backend.Call, monitored)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = make(map[*monitor]struct{})
	}
	m.all[one] = struct{}{}
	m.some.Store(true)
	return one
}

func (m *monitors) remove(one *monitor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, one)
	m.some.Store(len(m.all) > 0)
}

// tell hands a call to all who want it, and waits for none of them.
func (m *monitors) tell(c backend.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for one := range m.all {
		if !strings.HasPrefix(c.Method, one.Method) || one.UID != nil && *one.UID != c.UID || c.TookUs < one.SlowerUs {
			continue
		}
		c.Missed = one.missed
		select {
		case one.calls <- c:
			one.missed = 0
		default:
			one.missed++
		}
	}
}

// Monitor yields calls as they end, until ctx does, or the server stops.
func (a *admin) Monitor(ctx context.Context, o backend.MonitorOptions) iter.Seq2[backend.Call, error] {
	return func(yield func(backend.Call, error) bool) {
		one := a.s.monitors.add(o)
		defer a.s.monitors.remove(one)
		for {
			select {
			case c := <-one.calls:
				if !yield(c, nil) {
					return
				}
			case <-ctx.Done():
				yield(backend.Call{}, ctx.Err())
				return
			case <-a.s.stopping:
				yield(backend.Call{}, limit.Stopping())
				return
			}
		}
	}
}

// observed is a call while it is under way, of which somebody wants to know.
type observed struct {
	method string
	begun  time.Time
	size   int64
	stream bool
}

// observes reports whether somebody wants to know of a call when it has ended.
func (s *Server) observes(ctx context.Context) bool {
	return s.o.SlowCall > 0 || s.monitors.some.Load() || s.log.Enabled(ctx, slog.LevelDebug)
}

// ended says of a call what is to be known of it: to the log, if that has everything or the call was
// slow, and to those who monitor calls.
func (s *Server) ended(ctx context.Context, o observed, waited *time.Duration, failure *error) {
	took := s.o.Now().Sub(o.begun)
	m := s.methods[o.method] // nil: one of gRPC's own
	slow := s.o.SlowCall > 0 && took >= s.o.SlowCall && !o.stream && m != nil && !m.Long
	debug := s.log.Enabled(ctx, slog.LevelDebug)
	if !slow && !debug && !s.monitors.some.Load() {
		return
	}
	who, _ := framed.PeerFrom(ctx)
	code := status.Code(*failure).String()
	level, text := slog.LevelDebug, "call"
	attrs := []slog.Attr{slog.String("method", o.method), slog.String("code", code), slog.Duration("took", took), slog.Int64("uid", int64(who.UID)), slog.Int64("pid", int64(who.PID))}
	logged := debug
	if slow {
		if out, ok := s.slowCalls.take(s.o.Now()); ok {
			logged, level, text = true, slog.LevelWarn, "slow call"
			attrs = append(attrs, slog.String("cause", s.cause(o.begun, *waited, took)), slog.Int64("request_bytes", o.size))
			if out > 0 {
				attrs = append(attrs, slog.Int64("left_out", out))
			}
		}
	}
	if logged {
		s.log.LogAttrs(ctx, level, text, attrs...)
	}
	if m == nil || m.Name == "Admin.Monitor" || !s.monitors.some.Load() {
		return
	}
	s.monitors.tell(backend.Call{
		TimeMs: uint64(s.o.Now().UnixMilli()), Method: m.Name, UID: who.UID, PID: int64(who.PID), TookUs: uint64(took.Microseconds()), WaitedUs: uint64(waited.Microseconds()),
		Code: code, Kind: fault.KindOf(*failure), RequestBytes: uint64(o.size),
	})
}

// slowCalls keeps those who make many slow calls from filling the log with them.
type slowCalls struct {
	mu     sync.Mutex
	second int64 // of which those are counted
	count  int
	out    int64 // calls of which nothing was said
}

// slowEach is of how many slow calls a second the log tells.
const slowEach = 10

// take reports whether there is room for one more, and how many were left out before it.
func (c *slowCalls) take(now time.Time) (out int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Unix() != c.second {
		c.second, c.count = now.Unix(), 0
	}
	if c.count == slowEach {
		c.out++
		return 0, false
	}
	c.count++
	out, c.out = c.out, 0
	return out, true
}

// cause says what a slow call has spent its time with, as far as that is known.
func (s *Server) cause(begun time.Time, waited, took time.Duration) string {
	if waited > took/2 {
		return "it waited for its turn " + waited.Round(time.Millisecond).String() + ": its user has as much under way as the others leave to it"
	}
	st, err := s.eng.Stats()
	switch {
	case err != nil:
		return "the engine can't be asked: " + err.Error()
	case st.Stopped:
		return "writes wait for compaction, which is behind"
	case st.SlowWrite.Ended.After(begun) && st.SlowWrite.Stalled:
		return "a write waited " + st.SlowWrite.Took.Round(time.Millisecond).String() + " for compaction, which is behind"
	case st.SlowWrite.Ended.After(begun):
		return "the disk took " + st.SlowWrite.Took.Round(time.Millisecond).String() + " for a write"
	}
	return "its own work, or the machine has other work"
}
