package server

import (
	"context"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/rpc/internal/frame"
)

// maxInbox is how many messages of a stream may wait to be taken.
const maxInbox = 64

// framedStream is the grpc.ServerStream of a call in frames.
type framedStream struct {
	k     *framedCall
	ctx   context.Context
	inbox chan request

	mu     sync.Mutex
	closed bool // no more messages come
	err    error
	credit int64
	more   chan struct{} // of capacity 1: there is credit
}

func newFramedStream(k *framedCall, ctx context.Context) *framedStream {
	return &framedStream{k: k, ctx: ctx, inbox: make(chan request, maxInbox), credit: frame.Window, more: make(chan struct{}, 1)}
}

// Context is grpc.ServerStream's.
func (s *framedStream) Context() context.Context { return s.ctx }

// SetHeader is grpc.ServerStream's; frames have none.
func (s *framedStream) SetHeader(metadata.MD) error { return nil }

// SendHeader is grpc.ServerStream's; frames have none.
func (s *framedStream) SendHeader(metadata.MD) error { return nil }

// SetTrailer is grpc.ServerStream's; frames have none.
func (s *framedStream) SetTrailer(metadata.MD) {}

// pagesAhead is how many pages of scans may wait on a connection to be written, of
// all its streams together, before a stream that brings one more waits too.
const pagesAhead = 4

// SendMsg is grpc.ServerStream's. It waits for credit, and while much waits to be
// written.
func (s *framedStream) SendMsg(m any) error {
	payload, err := s.k.conn.f.codec.Marshal(m)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if err := s.spend(int64(payload.Len())); err != nil {
		payload.Free()
		return err
	}
	if err := s.k.conn.w.AddBehind(pagesAhead*s.k.conn.s.pageSize(), frame.Header{ID: s.k.id}, payload); err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	if !s.k.conn.flush() {
		return status.Error(codes.Unavailable, "the connection is lost")
	}
	return nil
}

// spend waits until there is credit and takes n of it, be it more than there is.
func (s *framedStream) spend(n int64) error {
	for {
		if err := s.ctx.Err(); err != nil {
			return status.FromContextError(err).Err()
		}
		s.mu.Lock()
		if s.credit > 0 {
			s.credit -= n
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-s.more:
		case <-s.ctx.Done():
		}
	}
}

// give adds credit.
func (s *framedStream) give(n uint32) {
	s.mu.Lock()
	s.credit = min(s.credit+int64(n), 1<<40)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// RecvMsg is grpc.ServerStream's.
func (s *framedStream) RecvMsg(m any) error {
	select {
	case r, ok := <-s.inbox:
		if !ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.err != nil {
				return s.err
			}
			return io.EOF
		}
		defer s.k.conn.s.freed(&r)
		return s.k.conn.s.counted(&r, m)
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// put brings a message. More than maxInbox that are not taken end the stream.
func (s *framedStream) put(f frame.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.k.conn.discard(f)
		if s.err != nil {
			return nil
		}
		return fmt.Errorf("%w: a message after the last of call %d", frame.ErrMalformed, f.ID)
	}
	r := own(f)
	select {
	case s.inbox <- r:
	default:
		s.k.conn.s.freed(&r)
		s.closeWith(busy(whatUntaken, maxInbox))
	}
	return nil
}

// fail ends what comes with err.
func (s *framedStream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeWith(err)
}

func (s *framedStream) closeInbox() { s.fail(nil) }

// closeWith ends what comes, unless that was done before. The caller holds mu.
func (s *framedStream) closeWith(err error) {
	if !s.closed {
		s.closed, s.err = true, err
		close(s.inbox)
	}
}

// drop gives back what came and was not taken. The handler has returned.
func (s *framedStream) drop() {
	s.closeInbox()
	for r := range s.inbox {
		s.k.conn.s.freed(&r)
	}
}
