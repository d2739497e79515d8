package framed

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// stream is the grpc.ServerStream of a call in frames. What the client
// sends is in inbox.go.
type stream struct {
	k     *call
	ctx   context.Context
	inbox inbox

	mu     sync.Mutex
	credit int64
	more   chan struct{} // of capacity 1: there is credit

	slot int // that the next page goes to
}

func newStream(k *call, ctx context.Context, paced bool) *stream {
	return &stream{k: k, ctx: ctx, inbox: newInbox(paced), credit: frame.Window, more: make(chan struct{}, 1)}
}

// Context ends with the stream, as [grpc.ServerStream] has it.
func (s *stream) Context() context.Context { return s.ctx }

// SetHeader does nothing: frames have no headers.
func (s *stream) SetHeader(metadata.MD) error { return nil }

// SendHeader does nothing: frames have no headers.
func (s *stream) SendHeader(metadata.MD) error { return nil }

// SetTrailer does nothing: frames have no trailers.
func (s *stream) SetTrailer(metadata.MD) {}

// pagesAhead is how many pages of scans may wait on a connection to be written, of
// all its streams together, before a stream that brings one more waits too.
const pagesAhead = 4

// SendMsg sends an answer, as [grpc.ServerStream] has it. It waits for credit, and while much waits to be
// written.
func (s *stream) SendMsg(m any) error {
	payload, err := s.paid(m)
	if err != nil {
		return err
	}
	if err := s.add(payload); err != nil {
		return err
	}
	return s.flush()
}

// SendLast sends the last answer and the end of the stream in one write, as [op.LastSender] has
// it: who waits for both wakes once, and not only when the handler has returned.
func (s *stream) SendLast(m any) error {
	payload, err := s.paid(m)
	if err != nil {
		return err
	}
	if !s.k.claim() {
		payload.Free()
		return status.Error(codes.Canceled, "the stream has ended")
	}
	if err := s.add(payload); err != nil {
		return err
	}
	s.k.conn.answer(s.k.id, nil, nil)
	return s.flush()
}

// paid returns an answer as it goes out, for which there is credit.
func (s *stream) paid(m any) (mem.BufferSlice, error) {
	payload, err := s.k.conn.f.codec.Marshal(m)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := s.spend(int64(payload.Len())); err != nil {
		payload.Free()
		return nil, err
	}
	return payload, nil
}

// add brings an answer to be written with what follows.
func (s *stream) add(payload mem.BufferSlice) error {
	if err := s.k.conn.w.AddBehind(pagesAhead*limit.PageSize(s.k.conn.f.o.Scans), frame.Header{ID: s.k.id}, payload); err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return nil
}

func (s *stream) flush() error {
	if !s.k.conn.flush() {
		return status.Error(codes.Unavailable, "the connection is lost")
	}
	return nil
}

// spend waits until there is credit and takes n of it, be it more than there is.
func (s *stream) spend(n int64) error {
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
func (s *stream) give(n uint32) {
	s.mu.Lock()
	s.credit = min(s.credit+int64(n), 1<<40)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}
