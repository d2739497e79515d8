package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// countedAnswer is the size from which an answer counts, in bytes: smaller ones are no more than
// the calls that they answer, which count too.
const countedAnswer = 16 << 10

// likelyAnswer is what a call that may have a large answer counts while it is made, in bytes.
const likelyAnswer = 1 << 20

// largeRequest is the size from which a request is heavy, in bytes.
const largeRequest = 64 << 10

// shared makes a call by next as one of its user's share: those with large requests, and those that may
// have large answers, a few at a time, with the answer counted until it is with the kernel.
func (s *Server) shared(ctx context.Context, a *limit.Account, m *op.Method, size int64, next func() (any, error)) (res any, err error) {
	if err := s.calls.Take(a, 1); err != nil {
		return nil, err
	}
	defer s.calls.Give(a, 1)
	if size < largeRequest && (m.Role != access.Reader || m.Short) {
		if res, err = next(); err != nil {
			return nil, err
		}
		return s.counted(a, res)
	}
	err = a.Heavy(ctx, func() error {
		// Nothing is made for who takes no answers: they would be made to be thrown away.
		if err := s.answers.Take(a, likelyAnswer); err != nil {
			return err
		}
		res, err = next()
		s.answers.Give(a, likelyAnswer)
		if err == nil {
			res, err = s.counted(a, res)
		}
		return err
	})
	return res, err
}

// counted returns an answer encoded, whose bytes count, if they are many, until they have been written.
func (s *Server) counted(a *limit.Account, answer any) (any, error) {
	if answer == nil { // a direct one, which is made in memory that is used again
		return nil, nil
	}
	message, err := s.codec.Marshal(answer)
	if err != nil {
		return nil, err
	}
	size := int64(message.Len())
	if size < countedAnswer {
		return wire.Ready(message), nil
	}
	if err := s.answers.Take(a, size); err != nil {
		message.Free()
		return nil, err
	}
	message, ok := wire.Freed(message, func() { s.answers.Give(a, size) })
	if !ok { // of many small pieces, which nothing sends
		s.answers.Give(a, size)
	}
	return wire.Ready(message), nil
}

// countedStream is a stream whose answers count while they wait.
type countedStream struct {
	grpc.ServerStream
	s *Server
	a *limit.Account
}

// SendMsg sends an answer, as [grpc.ServerStream] has it.
func (c *countedStream) SendMsg(m any) error {
	ready, err := c.s.counted(c.a, m)
	if err != nil {
		return err
	}
	size := ready.(wire.Ready).Len()
	if err := c.ServerStream.SendMsg(ready); err != nil {
		return err
	}
	c.a.Sent(size)
	return nil
}

// lastStream is one that can send its last answer with its end.
type lastStream struct{ countedStream }

// SendLast sends the last answer, as [op.LastSender] has it.
func (c *lastStream) SendLast(m any) error {
	ready, err := c.s.counted(c.a, m)
	if err != nil {
		return err
	}
	return c.ServerStream.(op.LastSender).SendLast(ready)
}

// sharedStream makes a stream by next as one of its user's share; see [Server.shared]. Nothing of
// it is for those who may do everything.
func (s *Server) sharedStream(a *limit.Account, ss grpc.ServerStream, next func(grpc.ServerStream) error) error {
	if !a.Limited() {
		return next(ss)
	}
	if err := s.calls.Take(a, 1); err != nil {
		return err
	}
	defer s.calls.Give(a, 1)
	c := countedStream{ss, s, a}
	if _, ok := ss.(op.LastSender); ok {
		return next(&lastStream{c})
	}
	return next(&c)
}
