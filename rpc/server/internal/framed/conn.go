package framed

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
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// connection is a connection that speaks frames. One goroutine, the hand, reads
// it and answers short calls; others have goroutines of their own.
type connection struct {
	f      *Server
	nc     *demux.Conn
	w      *frame.Writer
	ctx    context.Context // of its calls; it has the peer
	cancel context.CancelFunc
	over   chan struct{} // closed when the hand has seen the end
	work   sync.WaitGroup
	slots  *shm.Pages // nil: pages go by the socket alone

	mu      sync.Mutex
	hand    *hand
	timer   *time.Timer
	armed   atomic.Bool // the timer runs
	seen    uint64      // the state of the hand when it fired last
	loose   int         // short calls that take long: another hand reads meanwhile
	slotted bool        // a stream has the slots
	long    bool        // a stream that was taken for a short call was none

	calls map[uint64]*call // by id, those that are not answered yet
	begun int              // calls that have not ended: of some the answer may not be with the writer
}

// handover is how long a hand may be busy with a call, or up to twice as long,
// before another takes over reading, so that a read that waits for the disk holds
// up no others.
const handover = 3 * time.Millisecond

// MaxSlow is how many calls that take long a connection may have been left
// with: each has an answer in memory. More hold up the connection.
const MaxSlow = 8

// socketBuffer is how many bytes of writes the kernel is asked to hold: more
// than a page of a scan. With more than manyConns connections it is left to the
// system.
const (
	socketBuffer = 512 << 10
	manyConns    = 64
)

func newConnection(f *Server, nc *demux.Conn) *connection {
	c := &connection{f: f, nc: nc, over: make(chan struct{}), calls: make(map[uint64]*call)}
	who := &peer.Peer{Addr: nc.RemoteAddr(), LocalAddr: nc.LocalAddr(), AuthInfo: nc.Peer}
	c.ctx, c.cancel = context.WithCancel(peer.NewContext(context.Background(), who))
	c.w = frame.NewWriter(nc.Raw(), f.o.SessionIdle)
	c.timer = time.AfterFunc(time.Hour, c.watch)
	c.timer.Stop()
	r := frame.NewReader(nc.Raw())
	r.Growing, r.Admit, r.Release = nc.Peer.Account.Limited(), c.admit, c.release
	c.hand = newHand(c, r)
	return c
}

// admit takes so many bytes more for a payload of whole, which are counted as they come.
func (c *connection) admit(more, whole int) error {
	a := c.nc.Peer.Account
	if a.Limited() && int64(whole) > a.Room() {
		return limit.TooLarge(int64(whole), a)
	}
	return c.f.o.InFlight.Take(a, int64(more))
}

func (c *connection) release(size int) { c.f.o.InFlight.Give(c.nc.Peer.Account, int64(size)) }

// serve greets and answers until the connection ends, and all calls have.
func (c *connection) serve() {
	if sized, ok := c.nc.Raw().(interface{ SetWriteBuffer(int) error }); ok && c.f.o.Connections.Used() <= manyConns {
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
func (c *connection) end() {
	c.cancel()
	c.nc.Close()
}

// endIfQuiet ends the connection if nothing is under way. The server is stopping.
func (c *connection) endIfQuiet() {
	c.mu.Lock()
	quiet := c.begun == 0 && c.hand.does() == handReads && c.loose == 0 && c.w.Waiting() == 0
	c.mu.Unlock()
	if quiet {
		c.end()
	}
}

func (f *Server) isStopping() bool {
	select {
	case <-f.o.Stopping:
		return true
	default:
		return false
	}
}

// watch looks at the hand now and then while it has something to do. If it has
// been busy with the same call since the last time, another goroutine reads.
func (c *connection) watch() {
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
	if state&handDoes == handCalls && c.loose < MaxSlow && h.state.CompareAndSwap(state, state+handLeft-handCalls) {
		c.loose++
		c.hand = newHand(c, h.r.Fork())
		c.work.Go(c.hand.run)
	}
	c.timer.Reset(handover)
}

// answer sends what a call was answered with.
func (c *connection) answer(id uint64, payload mem.BufferSlice, err error) {
	if err != nil {
		c.refuse(id, err)
		return
	}
	c.w.Add(frame.Header{ID: id, Flags: frame.End}, payload) // an error ends the connection
}

// refuse sends an error.
func (c *connection) refuse(id uint64, err error) {
	b, failed := proto.Marshal(status.Convert(err).Proto())
	if failed != nil { // a text that is not UTF-8
		b, _ = proto.Marshal(status.New(status.Code(err), "the daemon's log has the text").Proto())
	}
	c.w.AddBytes(frame.Header{ID: id, Flags: frame.End | frame.Error}, b) // an error ends the connection
}

// malformed tells the peer why the connection is ended.
func (c *connection) malformed(err error) {
	code := codes.InvalidArgument
	if errors.Is(err, frame.ErrTooLarge) {
		code = codes.ResourceExhausted
	}
	c.f.o.Log.Debug("hung up on a peer that does not keep to the frames", "uid", c.nc.Peer.UID, "pid", c.nc.Peer.PID, "error", err)
	c.refuse(0, status.Error(code, err.Error()))
	c.w.Flush(false) // the connection ends either way
}

// flush writes what there is. A connection that can't be written to is ended.
func (c *connection) flush() bool {
	if err := c.w.Flush(false); err != nil {
		c.end()
		return false
	}
	return true
}

// Use is what a connection has under way.
type Use struct {
	Calls     int  // that have not ended
	Slow      int  // short calls that take long, beside which another hand reads
	Unwritten int  // bytes of answers that wait to be written
	Waits     bool // a stream of answers waits for credit, or for room
	Full      bool // the client of a stream may send no more
}

// Uses returns what each connection has under way.
func (f *Server) Uses() (all []Use) {
	f.all(func(c *connection) { all = append(all, c.use()) })
	return all
}

func (c *connection) use() Use {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := Use{Calls: c.begun, Slow: c.loose, Unwritten: c.w.Waiting()}
	for _, k := range c.calls {
		if k.stream == nil {
			continue
		}
		k.stream.mu.Lock()
		u.Waits = u.Waits || k.stream.credit <= 0 || u.Unwritten > 0
		k.stream.mu.Unlock()
		k.stream.inbox.mu.Lock()
		u.Full = u.Full || k.stream.inbox.room <= 0
		k.stream.inbox.mu.Unlock()
	}
	return u
}
