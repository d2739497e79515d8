package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/internal/frame"
)

// framedConn is a connection that speaks frames. One goroutine, the hand, reads
// it and answers short calls; others have goroutines of their own.
type framedConn struct {
	f      *framed
	s      *Server
	nc     *admitted
	w      *frame.Writer
	ctx    context.Context // of its calls; it has the peer
	cancel context.CancelFunc
	over   chan struct{} // closed when the hand has seen the end
	work   sync.WaitGroup

	mu    sync.Mutex
	hand  *hand
	timer *time.Timer
	armed atomic.Bool // the timer runs
	seen  uint64      // the state of the hand when it fired last
	calls map[uint64]*framedCall
	taken int // those of calls that are not answered yet
	loose int // short calls that take long: another hand reads meanwhile
}

// handover is how long a hand may be busy with a call, or up to twice as long,
// before another takes over reading, so that a read that waits for the disk holds
// up no others.
const handover = 3 * time.Millisecond

// maxLoose is how many calls that take long a connection may have been left
// with: each has an answer in memory. More hold up the connection.
const maxLoose = 8

// socketBuffer is how many bytes of writes the kernel is asked to hold: more
// than a page of a scan. With more than manyConns connections it is left to the
// system.
const (
	socketBuffer = 512 << 10
	manyConns    = 64
)

func newFramedConn(f *framed, nc *admitted) *framedConn {
	c := &framedConn{f: f, s: f.s, nc: nc, over: make(chan struct{}), calls: make(map[uint64]*framedCall)}
	who := &peer.Peer{Addr: nc.RemoteAddr(), LocalAddr: nc.LocalAddr(), AuthInfo: nc.peer}
	c.ctx, c.cancel = context.WithCancel(peer.NewContext(context.Background(), who))
	c.w = frame.NewWriter(nc.countedConn.Conn, f.s.o.SessionIdle)
	c.timer = time.AfterFunc(time.Hour, c.watch)
	c.timer.Stop()
	r := frame.NewReader(nc.countedConn.Conn)
	r.Admit = func(size int) error { return c.s.inFlight.Take(int64(size)) }
	c.hand = newHand(c, r)
	return c
}

// serve greets and answers until the connection ends, and all calls have.
func (c *framedConn) serve() {
	if sized, ok := c.nc.countedConn.Conn.(interface{ SetWriteBuffer(int) error }); ok && c.s.connections.Load() <= manyConns {
		sized.SetWriteBuffer(socketBuffer) // as much of it as the system grants
	}
	if _, err := c.nc.Write(c.f.greeting); err == nil {
		c.hand.run()
		<-c.over
	}
	c.end()
	c.work.Wait()
	c.timer.Stop()
}

// end ends the connection, and what its calls wait for.
func (c *framedConn) end() {
	c.cancel()
	c.nc.Close()
}

// endIfQuiet ends the connection if nothing is under way. The server is stopping.
func (c *framedConn) endIfQuiet() {
	c.mu.Lock()
	quiet := len(c.calls) == 0 && c.hand.does() == handReads && c.loose == 0 && c.w.Waiting() == 0
	c.mu.Unlock()
	if quiet {
		c.end()
	}
}

func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// watch looks at the hand now and then while it has something to do. If it has
// been busy with the same call since the last time, another goroutine reads.
func (c *framedConn) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, seen := c.hand, c.seen
	state := h.state.Load()
	c.seen = state
	if state != seen {
		c.timer.Reset(handover)
		return
	}
	if state&handDoes == handReads {
		c.armed.Store(false)
		if h.state.Load() != state && c.armed.CompareAndSwap(false, true) { // it did not see that
			c.timer.Reset(handover)
		}
		return
	}
	if state&handDoes == handCalls && c.loose < maxLoose && h.state.CompareAndSwap(state, state+handLeft-handCalls) {
		c.loose++
		c.hand = newHand(c, h.r.Fork())
		c.work.Go(c.hand.run)
	}
	c.timer.Reset(handover)
}

// answer sends what a call was answered with.
func (c *framedConn) answer(id uint64, payload mem.BufferSlice, err error) {
	if err != nil {
		c.refuse(id, err)
		return
	}
	c.w.Add(frame.Header{ID: id, Flags: frame.End}, payload) // an error ends the connection
}

// refuse sends an error.
func (c *framedConn) refuse(id uint64, err error) {
	b, failed := proto.Marshal(status.Convert(err).Proto())
	if failed != nil { // a text that is not UTF-8
		b, _ = proto.Marshal(status.New(status.Code(err), "the daemon's log has the text").Proto())
	}
	c.w.AddBytes(frame.Header{ID: id, Flags: frame.End | frame.Error}, b) // an error ends the connection
}

// malformed tells the peer why the connection is ended.
func (c *framedConn) malformed(err error) {
	code := codes.InvalidArgument
	if errors.Is(err, frame.ErrTooLarge) {
		code = codes.ResourceExhausted
	}
	c.s.log.Debug("hung up on a peer that does not keep to the frames", "uid", c.nc.peer.UID, "pid", c.nc.peer.PID, "error", err)
	c.refuse(0, status.Error(code, err.Error()))
	c.w.Flush(false) // the connection ends either way
}

// flush writes what there is. A connection that can't be written to is ended.
func (c *framedConn) flush() bool {
	if err := c.w.Flush(false); err != nil {
		c.end()
		return false
	}
	return true
}
