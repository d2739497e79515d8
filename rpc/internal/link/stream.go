package link

import (
	"context"
	"encoding/binary"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/shm"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// Stream is a grpc.ClientStream in frames. One goroutine may send while another
// receives.
type Stream struct {
	conn   *Conn
	k      *call
	ctx    context.Context
	stop   func() bool
	method uint16 // of the first frame; 0 then
	many   bool   // the client may send many messages
	paced  bool   // they wait for credit
	taken  int    // bytes for which no credit was given yet
	held   int    // what the message before takes of the window until the next is asked for
}

// Open opens a stream that ends with ctx. many says that the client may send
// more than one message. The daemon hears of it with the first one.
func (c *Conn) Open(ctx context.Context, method uint16, many bool) (*Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	k, _, err := c.begin(ctx, -1, kind{stream: true})
	if err != nil {
		return nil, err
	}
	s := &Stream{conn: c, k: k, ctx: ctx, method: method, many: many}
	if s.paced = many && c.hello.ClientWindow > 0; s.paced {
		c.mu.Lock()
		k.credit, k.room = int64(c.hello.ClientWindow), make(chan struct{}, 1)
		c.mu.Unlock()
	}
	s.stop = context.AfterFunc(ctx, func() { c.cancel(k.id, status.FromContextError(ctx.Err()).Err()) })
	return s, nil
}

// Context is what the stream ends with, as [grpc.ClientStream] has it.
func (s *Stream) Context() context.Context { return s.ctx }

// Header returns nothing: frames have no headers.
func (s *Stream) Header() (metadata.MD, error) { return nil, nil }

// Trailer returns nothing: frames have no trailers.
func (s *Stream) Trailer() metadata.MD { return nil }

// SendMsg sends a request, as [grpc.ClientStream] has it. It waits until the daemon takes more, and
// returns io.EOF once the stream has ended; nil where the client sends one message, after which
// it asks RecvMsg either way.
func (s *Stream) SendMsg(m any) error {
	payload, err := s.conn.codec.Marshal(m)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if payload.Len() > int(s.conn.hello.Message) {
		payload.Free()
		return status.Errorf(codes.ResourceExhausted, "a message larger than max (%d)", s.conn.hello.Message)
	}
	var flags frame.Flags
	if !s.many {
		flags = frame.End
	}
	if s.paced {
		if err := s.conn.spend(s.k, int64(payload.Len())+frame.PerMessage); err != nil {
			payload.Free()
			return err
		}
	}
	return s.send(flags, payload)
}

// CloseSend says that no request follows, as [grpc.ClientStream] has it.
func (s *Stream) CloseSend() error {
	if s.many {
		s.send(frame.End, nil) // a stream that has ended says so when it is received from
	}
	return nil
}

func (s *Stream) send(flags frame.Flags, payload mem.BufferSlice) error {
	s.conn.mu.Lock()
	done := s.k.done
	s.conn.mu.Unlock()
	if done {
		payload.Free()
		return s.unsent()
	}
	h := frame.Header{ID: s.k.id, Method: s.method, Flags: flags}
	if s.method != 0 {
		h.Deadline, _ = remaining(s.ctx, -1) // a context that has ended ends the stream
		if s.paced {
			h.Flags |= frame.Paced
		}
		s.method = 0
	}
	if err := s.conn.send(s.k, h, payload); err != nil {
		return s.unsent()
	}
	return nil
}

// unsent is what sending returns on a stream that has ended: RecvMsg says why.
func (s *Stream) unsent() error {
	if !s.many {
		return nil // or who only reads may take it for the end of the answers
	}
	return io.EOF
}

// RecvMsg waits for the next answer, as [grpc.ClientStream] has it.
func (s *Stream) RecvMsg(m any) error {
	c, k := s.conn, s.k
	if ended := s.ctx.Err(); ended != nil { // whoever watches the context may not have come to it
		c.cancel(k.id, status.FromContextError(ended).Err())
	}
	if s.held > 0 {
		s.taken, s.held = s.taken+s.held, 0
		if s.taken >= int(c.hello.Window)/2 {
			s.give()
		}
	}
	c.mu.Lock()
	err := c.wait(k)
	c.leave(k)
	if err != nil || len(k.inbox) == 0 {
		c.mu.Unlock()
		s.stop()
		if err == nil {
			err = io.EOF
		}
		return err
	}
	got := k.inbox[0]
	k.inbox = append(k.inbox[:0], k.inbox[1:]...)
	over := k.done
	c.mu.Unlock()
	if s.taken += len(got.bytes); s.taken >= int(c.hello.Window)/2 && !over {
		s.give()
	}
	err = c.decode(got, m)
	if page, ok := m.(*wire.Lent); ok && page.Slot > 0 {
		s.held = int(c.hello.Window) / shm.Slots
	}
	return err
}

// Slots are where pages lie that name a slot; nil: there are none.
func (s *Stream) Slots() *shm.PagesRead { return s.conn.slots }

// give lets the daemon send as much more as was received.
func (s *Stream) give() {
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], uint32(s.taken))
	s.taken = 0
	if s.conn.w.AddBytes(frame.Header{ID: s.k.id, Flags: frame.Credit}, n[:]) == nil {
		s.conn.w.Flush(false) // whoever reads is told of an error
	}
}

// Close gives up the stream, and what came of it.
func (s *Stream) Close() {
	s.stop()
	s.conn.cancel(s.k.id, status.Error(codes.Canceled, "the stream is closed"))
	s.conn.mu.Lock()
	inbox := s.k.inbox
	s.k.inbox = nil
	s.conn.mu.Unlock()
	for _, m := range inbox {
		m.free()
	}
}
