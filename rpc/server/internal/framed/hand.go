package framed

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// hand reads a connection.
type hand struct {
	conn *connection
	r    *frame.Reader
	// taken is how many short calls, or what costs as much, were taken since the connection was read.
	taken int
	sc    Scratch

	// state is what the hand does, in its lowest bits, and counts its calls above
	// them. Only the hand changes it, but for handLeft.
	state atomic.Uint64
}

// begunCost is how many short calls one costs that is begun, for the pace of its user.
const begunCost = 4

// What a hand does.
const (
	handReads   = iota // it reads, or does what takes no time
	handCalls          // it makes a call
	handLeft           // it makes a call, and another reads meanwhile
	handAnswers        // it has made one, whose answer is not with the writer yet

	handDoes = 3
	handCall = 4 // one call more
)

func newHand(c *connection, r *frame.Reader) *hand {
	h := &hand{conn: c, r: r}
	h.sc.handler = h.sc.handle
	h.sc.ctx = shortContext{Context: c.ctx, peer: c.nc.Peer, received: time.Now()}
	return h
}

func (h *hand) does() uint64 { return h.state.Load() & handDoes }

// called is called before a call. It returns the state, which made wants.
func (h *hand) called() uint64 {
	state := h.state.Load() + handCall + handCalls
	h.state.Store(state)
	if c := h.conn; !c.armed.Load() && c.armed.CompareAndSwap(false, true) {
		c.timer.Reset(handover)
	}
	return state
}

// made is called when the call is made. It returns false if another hand reads
// by now. To write the answer may take long too: nobody takes over then.
func (h *hand) made(state uint64) bool {
	return h.state.CompareAndSwap(state, state+handAnswers-handCalls)
}

// run reads and answers until the connection ends, or another takes over.
func (h *hand) run() {
	c := h.conn
	c.w.Flush(false) // of the hand before; an error is met again
	for {
		f, ok, err := h.r.Next()
		if err == nil && ok {
			h.taken++
			var goesOn bool
			if goesOn, err = h.take(f); !goesOn && err == nil {
				return
			}
		}
		if err != nil {
			c.malformed(err)
			break
		}
		if ok {
			continue
		}
		if !h.rest() {
			break
		}
		c.nc.Peer.Account.Calls(h.taken)
		h.taken = 0
		if err := h.fill(); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				c.stalled()
			} else if !errors.Is(err, io.EOF) {
				c.f.o.Log.Debug("connection lost", "uid", c.nc.Peer.UID, "pid", c.nc.Peer.PID, "error", err)
			}
			break
		}
		h.sc.ctx.received = time.Now()
	}
	c.release(h.r.Close())
	c.end()
	close(c.over)
}

// fill reads once, and waits for it: for the rest of a frame that has begun not for ever.
func (h *hand) fill() error {
	if !h.r.Partial() {
		return h.r.Fill()
	}
	nc := h.conn.nc.Raw()
	nc.SetReadDeadline(time.Now().Add(h.conn.f.o.Stall)) // a connection without deadlines has none
	defer nc.SetReadDeadline(time.Time{})
	return h.r.Fill()
}

// stalled tells the peer why the connection ends.
func (c *connection) stalled() {
	c.refuse(0, limit.Stalled(c.f.o.Stall))
	c.w.Flush(false) // the connection ends either way
}

// rest is called before waiting for more.
func (h *hand) rest() bool {
	c := h.conn
	if !c.flush() {
		return false
	}
	if c.f.isStopping() {
		c.endIfQuiet()
	}
	return true
}

// take does what a frame asks for. It returns false if another has taken over,
// and an error if the peer does not keep to the format.
func (h *hand) take(f frame.Frame) (bool, error) {
	c := h.conn
	switch {
	case f.ID == 0:
		return false, fmt.Errorf("%w: a request without an id", frame.ErrMalformed)
	case f.Method == 0:
		return true, c.more(f)
	case f.Flags&(frame.Cancel|frame.Credit|frame.Error) != 0:
		return false, fmt.Errorf("%w: a request with flags %#02x", frame.ErrMalformed, f.Flags)
	}
	m := c.f.methods[f.Method]
	err := f.Refused
	switch {
	case err != nil:
	case m != nil && f.Flags&frame.Paced != 0 && !m.takesMany():
		err = fmt.Errorf("%w: %s takes one message, which is not paced", frame.ErrMalformed, m.Full())
	case m == nil:
		err = status.Errorf(codes.Unimplemented, "no method %d", f.Method)
	case c.f.isStopping():
		err = limit.Stopping()
	case f.Owned == nil && f.Flags&frame.End != 0 && (h.isShort(m) || h.lone(f, m)):
		return h.short(f, m), nil
	default:
		h.taken += begunCost - 1
		err = c.begin(f, m)
	}
	if err != nil {
		c.discard(f)
		if errors.Is(err, frame.ErrMalformed) {
			return false, err
		}
		c.refuse(f.ID, err)
	}
	return true, nil
}

// isShort reports whether a call is answered by the hand, whatever else the connection has to do.
func (h *hand) isShort(m *method) bool {
	return m.Short && !(m.Large && h.conn.nc.Peer.Account.Limited())
}

// lone reports whether a call is answered as a short one, since it waits for no disk and the
// connection has nothing else to do.
func (h *hand) lone(f frame.Frame, m *method) bool {
	direct := m.direct != nil && m.direct.Lone != nil
	if !direct && !m.Brief || h.r.Buffered() > 0 {
		return false
	}
	c := h.conn
	if m.stream != nil && c.nc.Peer.Account.Limited() {
		return false
	}
	c.mu.Lock()
	busy := len(c.calls) > 0 || c.loose > 0 || m.stream != nil && c.long
	c.mu.Unlock()
	switch {
	case busy:
		return false
	case direct:
		return m.direct.Parse(&h.sc, f.Payload) == nil && m.direct.Lone(&h.sc)
	}
	return m.waitsForNoDisk(f.Payload)
}

// discard gives back what a frame holds.
func (c *connection) discard(f frame.Frame) {
	if f.Owned != nil {
		c.release(len(f.Payload))
		wire.Return(f.Owned)
	}
}
