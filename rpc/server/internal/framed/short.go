package framed

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Scratch is the memory of a hand, for one call after the other: requests, and what
// their answers are made in.
type Scratch struct {
	ctx      shortContext
	Get      stoav1.GetRequest
	MultiGet stoav1.MultiGetRequest
	KvGet    stoav1.KvGetRequest
	KvPut    stoav1.KvPutRequest
	Apply    stoav1.ApplyRequest
	Decide   stoav1.PolicyDecideRequest
	Scan     stoav1.ScanRequest
	tenant   string // of the call that named one last
	Value    []byte // what KvGet found
	Out      []byte // of an answer that is small

	handler func(context.Context, any) (any, error) // handle
	direct  *Direct
	asked   int // bytes of the request
	answer  Answer
}

// Size is how many bytes the request under way takes.
func (sc *Scratch) Size() int { return sc.asked }

// TenantName returns the name of a tenant: mostly it is that of the call before, and takes
// no memory.
func (sc *Scratch) TenantName(name []byte) string {
	if string(name) != sc.tenant {
		sc.tenant = string(name)
	}
	return sc.tenant
}

// handle is the innermost handler of a direct call.
func (sc *Scratch) handle(ctx context.Context, _ any) (_ any, err error) {
	sc.answer, err = sc.direct.Do(ctx, sc)
	return nil, err
}

// call makes a direct call by way of the interceptors.
func (sc *Scratch) call(f *Server, m *method, payload []byte) (Answer, error) {
	sc.answer, sc.direct, sc.asked = Answer{}, m.direct, len(payload)
	if err := m.direct.Parse(sc, payload); err != nil {
		return Answer{}, err
	}
	_, err := f.unary(&sc.ctx, sc, m.info, sc.handler)
	return sc.answer, err
}

// shortContext is the context of a short call, which nobody can cancel but the
// end of the connection, and whose deadline counts when it is asked for.
type shortContext struct {
	context.Context // of the connection
	peer            demux.Peer
	received        time.Time // when what holds the request was read
	timeout         time.Duration
}

// Deadline returns when the call ends, as [context.Context] has it.
func (c *shortContext) Deadline() (time.Time, bool) { return c.received.Add(c.timeout), true }

// Err returns what the call ended with, as [context.Context] has it.
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
	h.sc.ctx.timeout = c.f.o.CallTimeout
	if f.Deadline > 0 {
		h.sc.ctx.timeout = time.Duration(f.Deadline) * time.Millisecond
	}
	var ans Answer
	var err error
	if m.direct != nil {
		ans, err = h.sc.call(c.f, m, f.Payload)
	} else {
		ans.Large, err = c.f.generated(&h.sc.ctx, m, func(v any) error { return Parse(f.Payload, v) })
	}
	same := h.made(state)
	switch {
	case err != nil || m.stream == nil:
	case ans.Long:
		c.mu.Lock()
		c.long = true
		c.mu.Unlock()
		if err = c.begin(f, m); err == nil {
			return h.rests(state, same)
		}
	case ans.Large != nil:
		c.w.Add(frame.Header{ID: f.ID}, ans.Large) // an error ends the connection
		ans.Large = nil
	}
	if err == nil && ans.Large == nil {
		c.w.AddBytes(frame.Header{ID: f.ID, Flags: frame.End}, ans.Small) // an error ends the connection
	} else {
		c.answer(f.ID, ans.Large, err)
	}
	return h.rests(state, same)
}

// rests is called when the answer of a short call is with the writer. It returns false if another
// hand reads.
func (h *hand) rests(state uint64, same bool) bool {
	c := h.conn
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
	if c.flush() && c.f.isStopping() {
		c.endIfQuiet()
	}
	return same
}

// Parse parses a request. v may alias b.
func Parse(b []byte, v any) error {
	var err error
	switch m := v.(type) {
	case wire.Parser:
		err = m.Parse(b)
	case proto.Message:
		err = wire.Parse(b, m)
	default:
		return status.Errorf(codes.Internal, "%T is no message", v)
	}
	if err != nil {
		return status.Errorf(codes.Internal, "a request that does not parse: %v", err)
	}
	return nil
}

// PeerFrom returns who made the call of ctx, in frames or over gRPC.
func PeerFrom(ctx context.Context) (demux.Peer, bool) {
	if c, ok := ctx.(*shortContext); ok {
		return c.peer, true
	}
	p, ok := peer.FromContext(ctx)
	if !ok {
		return demux.Peer{}, false
	}
	who, ok := p.AuthInfo.(demux.Peer)
	return who, ok
}
