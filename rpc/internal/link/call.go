package link

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// call is one call, or stream. What follows mu is guarded by Conn.mu.
type call struct {
	conn *Conn
	id   uint64
	wake chan struct{} // of capacity 1

	until   time.Time // when it is over; zero: it has no end of its own
	stream  bool      // many messages may come
	inbox   []message // what came and was not taken
	small   []byte    // memory of a message
	done    bool      // nothing comes any more
	err     error     // what it failed with; nil: well
	sent    bool      // the daemon may know of it
	sending bool
	waiting bool
	credit  int64         // of a paced stream: what it may send
	starved bool          // it waits for credit
	room    chan struct{} // of capacity 1, of a paced stream: who waits for credit is to look; nil: it is not paced
	prev    *call
	next    *call // in Conn.idle
}

// message is a payload that came.
type message struct {
	bytes []byte
	owned *[]byte // its memory; nil: a part of the reader's buffer
}

func (m message) free() {
	if m.owned != nil {
		wire.Return(m.owned)
	}
}

func newCall(c *Conn) *call { return &call{conn: c, wake: make(chan struct{}, 1)} }

// maxSmall is the size from which a message is not put straight behind those of others,
// which wait for it.
const maxSmall = 16 << 10

// Call makes a call of one message and one answer, which it decodes into reply.
// The call ends with ctx, and after timeout unless that is negative. It returns
// a status, or frame.ErrUnsent if the daemon has seen nothing of the call.
func (c *Conn) Call(ctx context.Context, timeout time.Duration, method uint16, ask, reply any) error {
	left, err := remaining(ctx, timeout)
	if err != nil {
		return err
	}
	small, isSmall := ask.(wire.Outbound)
	if m, ok := ask.(wire.Sized); ok && m.Size() > maxSmall {
		isSmall = false
	}
	k, several, err := c.begin(ctx, timeout, kind{sends: isSmall})
	if err != nil {
		return err
	}
	id := k.id
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { c.cancel(id, status.FromContextError(ctx.Err()).Err()) })
		defer stop()
	}
	h := frame.Header{ID: id, Method: method, Flags: frame.End, Deadline: left}
	if isSmall {
		if err = c.sendMessage(h, small, several); err != nil {
			c.sent(k, err)
		}
	} else {
		err = c.ask(k, h, ask)
	}
	if err != nil {
		defer c.drop(k)
		return c.failed(k, err)
	}
	err = c.receive(k, reply)
	if ctx.Done() == nil {
		c.reuse(k)
	}
	return err
}

// ask sends a request.
func (c *Conn) ask(k *call, h frame.Header, ask any) error {
	payload, err := c.codec.Marshal(ask)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if payload.Len() > int(c.hello.Message) {
		payload.Free()
		return status.Errorf(codes.ResourceExhausted, "a request larger than max (%d)", c.hello.Message)
	}
	return c.send(k, h, payload)
}

// remaining returns how many milliseconds a call has, as the daemon is told.
func remaining(ctx context.Context, timeout time.Duration) (uint32, error) {
	if err := ctx.Err(); err != nil {
		return 0, status.FromContextError(err).Err()
	}
	if at, ok := ctx.Deadline(); ok {
		if left := time.Until(at); timeout < 0 || left < timeout {
			timeout = max(left, 0)
		}
	}
	if timeout < 0 {
		return 0, nil
	}
	return uint32(min(max(timeout.Milliseconds()+1, 1), 1<<32-1)), nil
}

// kind says what a call is like.
type kind struct {
	stream bool // many messages may come
	sends  bool // it is sent at once
}

// begin registers a call, once there may be one more. It reports whether there
// are others.
func (c *Conn) begin(ctx context.Context, timeout time.Duration, of kind) (k *call, several bool, err error) {
	var until time.Time
	if timeout >= 0 {
		until = time.Now().Add(timeout)
	}
	k = c.spare.Get().(*call)
	k.stream, k.until = of.stream, until
	k.sent, k.sending = of.sends, of.sends
	c.mu.Lock()
	defer c.mu.Unlock()
	for again := false; ; again = true {
		if c.err != nil {
			return nil, false, c.err
		}
		var ok bool
		if len(c.calls.waiting) == 0 || again {
			k.id, ok = c.calls.put(k)
		}
		if ok {
			break
		}
		if err := c.queue(ctx, until, again); err != nil {
			return nil, false, err
		}
	}
	if timeout >= 0 && (c.alarmAt.IsZero() || until.Before(c.alarmAt)) {
		c.alarmAt = until
		c.alarm.Reset(timeout)
	}
	return k, c.calls.under() > 1, nil
}

// queue waits for a slot. The caller holds mu, which is free meanwhile.
func (c *Conn) queue(ctx context.Context, until time.Time, again bool) error {
	w := c.calls.wait(again)
	c.mu.Unlock()
	defer c.mu.Lock()
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		c.calls.giveUp(w)
		c.mu.Unlock()
		return status.FromContextError(ctx.Err()).Err()
	}
}

// end makes k, which is open, done, and wakes who waits for it. The caller holds
// mu.
func (c *Conn) end(k *call, err error) {
	c.calls.drop(k.id)
	k.done, k.err = true, err
	c.attend(k)
}

// attend makes whoever waits for k look. The caller holds mu.
func (c *Conn) attend(k *call) {
	if k.starved {
		k.lookForRoom()
	}
	switch {
	case !k.waiting:
	case c.reading == k:
		c.kick()
	default:
		k.wakeUp()
	}
}

func (k *call) lookForRoom() {
	select {
	case k.room <- struct{}{}:
	default: // it is told already
	}
}

func (k *call) wakeUp() {
	select {
	case k.wake <- struct{}{}:
	default: // it is told already
	}
}

// cancelGrace is how long a cancelled call that is being written may go on: to
// break it off ends the connection.
const cancelGrace = time.Second

// cancel ends a call from here, and tells the daemon, which answers even so. One
// that has ended already is left alone.
func (c *Conn) cancel(id uint64, err error) {
	c.mu.Lock()
	k := c.calls.open(id)
	if k == nil {
		c.mu.Unlock()
		return
	}
	if !k.sent {
		c.end(k, err)
		c.mu.Unlock()
		return
	}
	c.calls.haunt(id)
	k.done, k.err = true, err
	c.attend(k)
	c.pumpFor()
	if k.sending {
		c.nc.SetWriteDeadline(time.Now().Add(cancelGrace)) // a closed connection has none
	}
	c.mu.Unlock()
	if c.w.AddBytes(frame.Header{ID: id, Flags: frame.Cancel}, nil) == nil {
		c.w.Flush(false) // whoever reads is told of an error
	}
}

// expire cancels the calls whose time is over, and sets the alarm for the next.
func (c *Conn) expire() {
	var over []uint64
	c.mu.Lock()
	now := time.Now()
	c.alarmAt = time.Time{}
	for _, s := range c.calls.slots {
		switch {
		case s.k == nil || s.k.until.IsZero():
		case !now.Before(s.k.until):
			over = append(over, s.id)
		case c.alarmAt.IsZero() || s.k.until.Before(c.alarmAt):
			c.alarmAt = s.k.until
		}
	}
	if !c.alarmAt.IsZero() {
		c.alarm.Reset(c.alarmAt.Sub(now))
	}
	c.mu.Unlock()
	for _, id := range over {
		c.cancel(id, status.Error(codes.DeadlineExceeded, "the daemon did not answer in time"))
	}
}

// drop forgets a call that was not sent.
func (c *Conn) drop(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !k.done {
		c.end(k, context.Canceled)
	}
}

// failed returns why k could not be sent: err, unless it was ended before.
func (c *Conn) failed(k *call, err error) error {
	if errors.Is(err, frame.ErrUnsent) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.done && k.err != nil {
		return k.err
	}
	return err
}

// reuse keeps a call that is done for another. Others know its id at most.
func (c *Conn) reuse(k *call) {
	select {
	case <-k.wake:
	default:
	}
	k.done, k.err, k.sent, k.inbox = false, nil, false, k.inbox[:0]
	c.spare.Put(k)
}

// receive waits for the answer to k and decodes it.
func (c *Conn) receive(k *call, reply any) error {
	c.mu.Lock()
	if k.sending {
		c.sentLocked(k, nil)
	}
	err := c.wait(k)
	if err != nil || len(k.inbox) == 0 {
		c.leave(k)
		c.mu.Unlock()
		if err == nil {
			err = status.Error(codes.Internal, "the daemon answered without an answer")
		}
		return err
	}
	m := k.inbox[0]
	k.inbox = k.inbox[:0]
	if m.owned != nil {
		c.leave(k)
		c.mu.Unlock()
		return c.decode(m, reply)
	}
	c.mu.Unlock() // k reads: what it reads from stays as it is
	err = c.decode(m, reply)
	c.mu.Lock()
	c.leave(k)
	c.mu.Unlock()
	return err
}

// decode decodes m into reply, and gives it back.
func (c *Conn) decode(m message, reply any) error {
	if l, ok := reply.(*wire.Lent); ok && m.owned != nil {
		return l.Take(m.owned)
	}
	defer m.free()
	if in, ok := reply.(wire.Parser); ok {
		if err := in.Parse(m.bytes); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		return nil
	}
	if err := c.codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(m.bytes)}, reply); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}
