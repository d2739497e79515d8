package framed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// MaxInbox is how many messages may wait to be taken of a stream that is not
// paced.
const MaxInbox = 64

// inbox is what came of a client's stream and was not taken.
type inbox struct {
	paced bool
	came  chan struct{} // of capacity 1: there is something to look at

	mu     sync.Mutex
	all    []request
	first  int   // of all that is not taken yet
	room   int64 // of a paced stream: what the client may still send
	owed   int64 // of a paced stream: what was taken, and no credit given for
	closed bool  // no more messages come
	err    error
}

func newInbox(paced bool) inbox {
	return inbox{paced: paced, came: make(chan struct{}, 1), room: frame.Window}
}

// cost is what a message of a paced stream counts.
func (r *request) cost() int64 { return int64(len(*r.memory)) + frame.PerMessage }

// put keeps a message unless there may be no more. It returns false if none come
// any more.
func (b *inbox) put(r request) (open, full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return false, false
	case b.paced && b.room <= 0, !b.paced && len(b.all)-b.first >= MaxInbox:
		return true, true
	}
	b.room -= r.cost()
	b.all = append(b.all, r)
	b.look()
	return true, false
}

// take returns the next message, and how much credit the client gets for it and
// those before. Without one, over says that none come any more, and why.
func (b *inbox) take() (r request, credit uint32, ok, over bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == len(b.all) {
		return r, 0, false, b.closed, b.err
	}
	r, b.all[b.first] = b.all[b.first], request{}
	if b.first++; b.first == len(b.all) {
		b.all, b.first = b.all[:0], 0
	}
	if b.owed += r.cost(); b.paced && b.owed >= frame.Window/2 && !b.closed {
		credit = uint32(b.owed)
		b.room, b.owed = b.room+b.owed, 0
	}
	return r, credit, true, false, nil
}

// close ends what comes, with err, unless that was done before.
func (b *inbox) close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed, b.err = true, err
		b.look()
	}
}

// failed returns what the inbox was closed with.
func (b *inbox) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// look wakes who waits for something. The caller holds mu.
func (b *inbox) look() {
	select {
	case b.came <- struct{}{}:
	default:
	}
}

// RecvMsg waits for the next request, as [grpc.ServerStream] has it. It gives credit for what was taken.
func (s *stream) RecvMsg(m any) error {
	for {
		if err := s.ctx.Err(); err != nil {
			return status.FromContextError(err).Err()
		}
		r, credit, ok, over, err := s.inbox.take()
		switch {
		case ok:
			defer s.k.conn.freed(&r)
			if credit > 0 {
				s.k.conn.credit(s.k.id, credit)
			}
			return s.k.conn.counted(&r, m)
		case err != nil:
			return err
		case over:
			return io.EOF
		}
		select {
		case <-s.inbox.came:
		case <-s.ctx.Done():
		}
	}
}

// credit lets a client's stream send more.
func (c *connection) credit(id uint64, n uint32) {
	var payload [4]byte
	binary.LittleEndian.PutUint32(payload[:], n)
	if c.w.AddBytes(frame.Header{ID: id, Flags: frame.Credit}, payload[:]) == nil { // an error ends the connection
		c.flush()
	}
}

// keep takes the first message of a call.
func (s *stream) keep(r request) { s.inbox.put(r) }

// put brings a message. More than may wait end the stream.
func (s *stream) put(f frame.Frame) error {
	r, err := s.k.conn.kept(f)
	if err != nil {
		s.fail(err)
		return nil
	}
	open, full := s.inbox.put(r)
	if open && !full {
		return nil
	}
	s.k.conn.freed(&r)
	switch {
	case full && s.inbox.paced:
		s.fail(limit.Busy(limit.WhatUnpaced, frame.Window))
	case full:
		s.fail(limit.Busy(limit.WhatUntaken, MaxInbox))
	case s.inbox.failed() == nil:
		return fmt.Errorf("%w: a message after the last of call %d", frame.ErrMalformed, f.ID)
	}
	return nil
}

// fail ends what comes with err.
func (s *stream) fail(err error) { s.inbox.close(err) }

func (s *stream) closeInbox() { s.inbox.close(nil) }

// errReturned is what a stream's messages end with once its handler has returned. The client sends
// more until it has the answer, and the hand may have looked the call up just before it was over:
// what comes even so is dropped, as all is that comes later.
var errReturned = errors.New("framed: the handler has returned")

// drop gives back what came and was not taken. The handler has returned.
func (s *stream) drop() {
	s.inbox.close(errReturned)
	for {
		r, _, ok, _, _ := s.inbox.take()
		if !ok {
			return
		}
		s.k.conn.freed(&r)
	}
}
