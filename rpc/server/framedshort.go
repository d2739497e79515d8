package server

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// scratch is the memory of a hand, for one call after the other.
type scratch struct {
	ctx      shortContext
	get      stoav1.GetRequest
	multiGet stoav1.MultiGetRequest
	kvGet    stoav1.KvGetRequest
	kvPut    stoav1.KvPutRequest
	apply    stoav1.ApplyRequest
	tenant   string // of kvGet, or of the one before
	value    []byte // what kvGet found
	out      []byte

	handler func(context.Context, any) (any, error) // handle
	direct  *direct
	asked   int // bytes of the request
	answer  answer
}

// size is how many bytes the request under way takes.
func (sc *scratch) size() int { return sc.asked }

// handle is the innermost handler of a direct call.
func (sc *scratch) handle(ctx context.Context, _ any) (_ any, err error) {
	sc.answer, err = sc.direct.do(ctx, sc)
	return nil, err
}

// call makes a direct call by way of the interceptors.
func (sc *scratch) call(f *framed, m *method, payload []byte) (answer, error) {
	sc.answer, sc.direct, sc.asked = answer{}, m.direct, len(payload)
	if err := m.direct.parse(sc, payload); err != nil {
		return answer{}, err
	}
	_, err := f.unary(&sc.ctx, sc, m.info, sc.handler)
	return sc.answer, err
}

// shortContext is the context of a short call, which nobody can cancel but the
// end of the connection, and whose deadline counts when it is asked for.
type shortContext struct {
	context.Context // of the connection
	peer            Peer
	received        time.Time // when what holds the request was read
	timeout         time.Duration
}

// Deadline is context.Context's.
func (c *shortContext) Deadline() (time.Time, bool) { return c.received.Add(c.timeout), true }

// Err is context.Context's.
func (c *shortContext) Err() error {
	if time.Since(c.received) >= c.timeout {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// flushAt is how many bytes of answers wait for more before they are written.
const flushAt = 128 << 10

// short answers a short call. It returns false if another hand reads now.
func (h *hand) short(f frame.Frame, m *method) bool {
	c := h.conn
	state := h.called()
	h.sc.ctx.timeout = c.s.o.CallTimeout
	if f.Deadline > 0 {
		h.sc.ctx.timeout = time.Duration(f.Deadline) * time.Millisecond
	}
	var ans answer
	var err error
	if m.direct != nil {
		ans, err = h.sc.call(c.f, m, f.Payload)
	} else {
		ans.large, err = c.f.generated(&h.sc.ctx, m, func(v any) error { return parse(f.Payload, v) })
	}
	same := h.made(state)
	if err == nil && ans.large == nil {
		c.w.AddBytes(frame.Header{ID: f.ID, Flags: frame.End}, ans.small) // an error ends the connection
	} else {
		c.answer(f.ID, ans.large, err)
	}
	if same {
		h.state.Store(state - handCalls)
		if c.w.Waiting() < flushAt {
			return true
		}
	} else {
		c.mu.Lock()
		c.loose--
		c.mu.Unlock()
	}
	if c.flush() && c.s.isStopping() {
		c.endIfQuiet()
	}
	return same
}

func parse(b []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "%T is no message", v)
	}
	if err := wire.Parse(b, m); err != nil {
		return status.Errorf(codes.Internal, "a request that does not parse: %v", err)
	}
	return nil
}
