package link

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// list is the calls that wait, the last first.
type list struct{ head *call }

func (l *list) empty() bool { return l.head == nil }

func (l *list) push(k *call) {
	k.prev, k.next = nil, l.head
	if l.head != nil {
		l.head.prev = k
	}
	l.head = k
}

func (l *list) remove(k *call) {
	switch {
	case k.prev != nil:
		k.prev.next = k.next
	case l.head == k:
		l.head = k.next
	default:
		return // it is not in the list
	}
	if k.next != nil {
		k.next.prev = k.prev
	}
	k.prev, k.next = nil, nil
}

// wait waits until something came for k, or it is done: it reads the connection
// unless another does. The caller holds mu, and calls leave when it has taken
// what came; until then k may be the one that reads.
func (c *Conn) wait(k *call) error {
	k.waiting = true
	for len(k.inbox) == 0 && !k.done {
		if c.reading == nil {
			c.reading = k
		}
		if c.reading == k {
			c.fill()
			continue
		}
		c.idle.push(k)
		c.mu.Unlock()
		<-k.wake
		c.mu.Lock()
		c.idle.remove(k)
	}
	k.waiting = false
	if len(k.inbox) > 0 {
		return nil
	}
	return k.err
}

// spend waits until the daemon takes more of a paced stream, and takes n of that,
// be it more than there is. It returns io.EOF once the stream has ended.
func (c *Conn) spend(k *call, n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k.credit <= 0 && !k.done {
		k.starved = true
		c.starved++
		c.pumpFor() // credit is read as all else
		c.mu.Unlock()
		<-k.room
		c.mu.Lock()
		c.starved--
		k.starved = false
	}
	if k.done {
		return io.EOF
	}
	k.credit -= n
	return nil
}

// leave is called after wait. The caller holds mu.
func (c *Conn) leave(k *call) {
	if c.reading == k || c.reading == nil {
		c.abdicate()
	}
}

// abdicate lets another one read: who waits, or if nobody does the pump, if a
// stream waits for credit, or a call has ended here and not yet there, since the
// daemon may be in the middle of writing what it does not yet know to be unwanted.
// The caller holds mu.
func (c *Conn) abdicate() {
	c.reading = nil
	if k := c.idle.head; k != nil {
		c.idle.remove(k)
		k.wakeUp()
	} else if c.calls.ghosts > 0 || c.starved > 0 {
		c.pumpFor()
	}
}

// kick makes the one that reads look up. The caller holds mu.
func (c *Conn) kick() {
	if c.filling && !c.kicked {
		c.kicked = true
		c.nc.SetReadDeadline(time.Unix(1, 0)) // a closed connection has none
	}
}

// fill reads once, and hands out what came. Only the one that reads calls it.
// The caller holds mu, which is free meanwhile.
func (c *Conn) fill() {
	c.filling = true
	c.mu.Unlock()
	err := c.r.Fill()
	c.mu.Lock()
	c.filling = false
	if c.kicked {
		c.kicked = false
		c.nc.SetReadDeadline(time.Time{}) // a closed connection has none
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.failLocked(lost(err))
		return
	}
	c.dispatch()
}

// dispatch hands out all frames that were read. The caller holds mu, and reads.
func (c *Conn) dispatch() {
	for {
		f, ok, err := c.r.Next()
		if err != nil {
			c.failLocked(status.Error(codes.Internal, err.Error()))
			return
		}
		if !ok {
			return
		}
		c.take(f)
	}
}

// take hands out one frame.
func (c *Conn) take(f frame.Frame) {
	if f.ID == 0 && f.Flags&frame.Error != 0 { // why the daemon hangs up
		c.failLocked(lost(errors.New(status.Convert(fromWire(f.Payload)).Message())))
		message{owned: f.Owned}.free()
		return
	}
	k := c.calls.open(f.ID)
	if k == nil { // of a call that was cancelled
		if f.Flags&frame.End != 0 {
			c.calls.drop(f.ID)
		}
		if f.Owned != nil {
			wire.Return(f.Owned)
		}
		return
	}
	if f.Flags&frame.Credit != 0 {
		k.credit = min(k.credit+int64(binary.LittleEndian.Uint32(f.Payload)), 1<<40)
		if k.starved {
			k.lookForRoom()
		}
		return
	}
	if f.Flags&frame.Error != 0 {
		c.end(k, fromWire(f.Payload))
		message{owned: f.Owned}.free()
		return
	}
	if f.Flags&frame.End == 0 || !k.stream {
		k.put(f)
	}
	if f.Flags&frame.End != 0 {
		c.end(k, nil)
		return
	}
	c.attend(k)
}

// put keeps the payload of f until it is taken. What stays in the reader's
// buffer is for the one that reads, who takes it before the next is read.
func (k *call) put(f frame.Frame) {
	m := message{bytes: f.Payload, owned: f.Owned}
	switch {
	case m.owned != nil:
	case k.stream:
		m.owned = wire.BorrowSize(len(f.Payload))
		copy(*m.owned, f.Payload)
		m.bytes = *m.owned
	case k.conn.reading != k:
		k.small = append(k.small[:0], f.Payload...)
		m.bytes = k.small
	}
	k.inbox = append(k.inbox, m)
}

// fromWire returns the error that a frame carries.
func fromWire(payload []byte) error {
	s := new(spb.Status)
	if err := proto.Unmarshal(payload, s); err != nil || s.GetCode() == int32(codes.OK) {
		return status.Error(codes.Internal, "the daemon answered with an error that does not parse")
	}
	return status.FromProto(s).Err()
}
