// Package link is the client's end of a framed connection. Conn makes calls over
// it, Stream is one that answers in many messages.
//
// There is no goroutine of its own: of the callers that wait, one reads the
// connection for all, so that a caller who is alone writes and reads by itself.
//
// Start at Dial and Conn.Call.
package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/peercred"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// Errors of Dial.
var (
	// ErrNotFramed is returned when the daemon does not know frames.
	ErrNotFramed = errors.New("link: the daemon does not speak frames")
	// ErrHungUp is returned when the daemon closes the connection at once.
	ErrHungUp = errors.New("link: the daemon hung up")
)

// socketBuffer is how many bytes of writes the kernel is asked to hold: more
// than a page of a scan.
const socketBuffer = 512 << 10

// Conn is a framed connection. It is safe for concurrent use.
type Conn struct {
	nc    *net.UnixConn
	w     *frame.Writer
	codec *wire.Codec
	hello frame.Greeting
	slots *shm.PagesRead // nil: pages come by the socket alone

	spare sync.Pool // of *call that are done with
	r     *frame.Reader

	mu      sync.Mutex
	calls   table
	alarm   *time.Timer
	alarmAt time.Time // zero: it is not set
	idle    list      // calls that wait while another reads
	reading *call     // who reads; nil: nobody
	pump    *call     // what reads while a large write is under way
	starved int       // streams that wait for credit
	filling bool      // it waits for the connection
	kicked  bool      // it is told to look up
	err     error     // why the connection is of no use; nil: it is
}

// Dial connects to the daemon at path, which this user, root or one of users serves, and waits for its greeting until ctx ends. It
// returns ErrNotFramed, ErrHungUp, what the system says, what ctx ended with, and, as a
// status, why the daemon does not serve this connection.
func Dial(ctx context.Context, path string, users []uint32) (*Conn, error) {
	return dial(ctx, path, users, (*Conn).greet)
}

// DialSlots is Dial of a connection that has slots of shared memory. It returns [shm.ErrNotForPeer]
// and [shm.ErrNone] as well.
func DialSlots(ctx context.Context, path string, users []uint32) (*Conn, error) {
	return dial(ctx, path, users, func(c *Conn) (err error) {
		if c.slots, err = shm.AskForPages(c.nc); err != nil {
			return err
		}
		return c.greet()
	})
}

func dial(ctx context.Context, path string, users []uint32, greet func(*Conn) error) (*Conn, error) {
	nc, err := peercred.Dial(ctx, path, users)
	if err != nil {
		return nil, err
	}
	c := &Conn{
		nc: nc, w: frame.NewWriter(nc, 0), codec: wire.NewCodec(),
		r: frame.NewReader(nc),
	}
	c.spare.New = func() any { return newCall(c) }
	c.pump = newCall(c)
	c.alarm = time.AfterFunc(time.Hour, c.expire)
	c.alarm.Stop()
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	err = greet(c)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	c.calls.limit = int(min(c.hello.Calls, 1<<slotBits))
	return c, nil
}

// greet exchanges greetings.
func (c *Conn) greet() error {
	c.nc.SetWriteBuffer(socketBuffer) // as much of it as the system grants
	c.nc.Write([]byte(frame.Magic))   // the answer says whether it arrived
	var magic [len(frame.Magic)]byte
	if _, err := io.ReadFull(c.nc, magic[:]); err != nil {
		return fmt.Errorf("%w: %w", ErrHungUp, err)
	}
	if string(magic[:]) != frame.Magic {
		return ErrNotFramed
	}
	for {
		f, ok, err := c.r.Next()
		if err == nil && !ok {
			err = c.r.Fill()
		}
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", ErrHungUp, err)
		case ok:
			if f.Flags&frame.Error != 0 {
				return fromWire(f.Payload)
			}
			c.hello, err = frame.ParseGreeting(f.Payload)
			return err
		}
	}
}

// Has reports whether the daemon answers method in frames.
func (c *Conn) Has(method uint16) bool { return c.hello.Has(method) }

// Close ends the connection; calls under way fail with status Canceled.
func (c *Conn) Close() { c.fail(status.Error(codes.Canceled, "the connection is closed")) }

// Err returns why the connection is of no use, or nil.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail ends the connection and all calls with err. The first error stays.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

func (c *Conn) failLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	for _, s := range c.calls.slots {
		if s.k != nil {
			c.end(s.k, err)
		} else {
			c.calls.drop(s.id)
		}
	}
	for len(c.calls.waiting) > 0 {
		c.calls.next()
	}
	c.alarm.Stop()
	c.nc.Close()
}

// lost is what calls fail with when the connection does.
func lost(err error) error {
	return status.Error(codes.Unavailable, "the connection to the daemon is lost: "+err.Error())
}

// send writes a frame of k. A large one may have to wait until the daemon, which
// may wait for what it has answered to be read, takes it: somebody reads then.
func (c *Conn) send(k *call, h frame.Header, payload mem.BufferSlice) error {
	several, err := c.sending(k, payload.Len())
	if err != nil {
		payload.Free()
		return err
	}
	if err = c.w.Add(h, payload); err == nil {
		err = c.w.Flush(several)
	}
	return c.sent(k, err)
}

// sendMessage is send for a small message of a call that was begun to be sent.
func (c *Conn) sendMessage(h frame.Header, m wire.Outbound, several bool) error {
	err := c.w.AddMessage(h, m)
	if err == nil {
		err = c.w.Flush(several)
	}
	return err
}

// sending is called before a frame of k is written. It reports whether there are
// other calls, and returns an error if k has ended.
func (c *Conn) sending(k *call, size int) (several bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.done {
		return false, k.err
	}
	k.sent, k.sending = true, true
	if size > minBlocking {
		c.pumpFor()
	}
	return c.calls.under() > 1, nil
}

// sent is called after it, with what writing returned.
func (c *Conn) sent(k *call, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sentLocked(k, err)
	return err
}

func (c *Conn) sentLocked(k *call, err error) {
	k.sending = false
	if k.done { // it may have been cancelled, and the write given a deadline
		c.nc.SetWriteDeadline(time.Time{}) // a closed connection has none
	}
	if err != nil {
		c.failLocked(lost(err))
	}
}

// minBlocking is the size of a write that may not fit into the buffer of the
// socket.
const minBlocking = 64 << 10

// pumpFor has somebody read. The caller holds mu.
func (c *Conn) pumpFor() {
	if c.reading == nil && c.err == nil {
		c.reading = c.pump
		go c.readAll()
	}
}

// readAll reads for all until somebody else waits, or nobody does.
func (c *Conn) readAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && c.idle.empty() && c.calls.under() > 0 {
		c.fill()
	}
	c.abdicate()
}

// Idle reports whether nothing is under way, at the daemon either.
func (c *Conn) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && c.calls.under() == 0
}

// Alive reports whether the daemon has not hung up, as far as is known here.
func (c *Conn) Alive() bool {
	raw, err := c.nc.SyscallConn()
	if err != nil {
		return false
	}
	alive := true
	if err := raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		alive = n > 0 || errors.Is(err, unix.EAGAIN)
	}); err != nil {
		return false
	}
	return alive
}
