package server

import (
	"context"
	"sync"
	"time"

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
	if size < largeRequest && (m.Role != access.Reader || m.Short && !m.Large) {
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
		made, err := s.reserved(a, next)
		if err == nil {
			res, err = s.counted(a, made)
		}
		return err
	})
	return res, err
}

// inTurn is shared, and says how long the call waited before it was made.
func (s *Server) inTurn(ctx context.Context, a *limit.Account, m *op.Method, size int64, next func() (any, error)) (res any, waited time.Duration, err error) {
	asked := s.o.Now()
	res, err = s.shared(ctx, a, m, size, func() (any, error) {
		waited = s.o.Now().Sub(asked)
		return next()
	})
	return res, waited, err
}

// reserved makes a call whose answer is reckoned with already, until it is made.
func (s *Server) reserved(a *limit.Account, next func() (any, error)) (any, error) {
	defer s.answers.Give(a, likelyAnswer)
	return next()
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

// turnTime is how long a turn lasts at most: what takes longer waits for something else than the
// processor.
const turnTime = 10 * time.Millisecond

// gate is that of a stream of a user who may not do everything; see [op.Gate].
type gate struct {
	s *Server
	a *limit.Account

	mu    sync.Mutex
	leave func() // ends the turn; nil: there is none
}

// Gate returns what the items of a stream go through; see [op.Host].
func (s *Server) Gate(ctx context.Context) op.Gate {
	a := accountOf(ctx)
	if !a.Limited() {
		return nil
	}
	return &gate{s: s, a: a}
}

// Enter waits for a turn, as [op.Gate] has it.
func (g *gate) Enter(ctx context.Context) error {
	leave, err := g.a.Enter(ctx)
	if err != nil {
		return err
	}
	if err := g.s.answers.Take(g.a, likelyAnswer); err != nil { // it would be made to be thrown away
		leave()
		return err
	}
	g.s.answers.Give(g.a, likelyAnswer)
	once := sync.OnceFunc(leave)
	timer := time.AfterFunc(turnTime, once)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leave = func() {
		timer.Stop()
		once()
	}
	return nil
}

// Left ends the turn, as [op.Gate] has it.
func (g *gate) Left() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leave != nil {
		g.leave()
		g.leave = nil
	}
}

// Made counts an item, as [op.Gate] has it.
func (g *gate) Made(bytes int) error {
	return g.s.answers.Take(g.a, int64(bytes))
}

// Sent gives back what items count, as [op.Gate] has it.
func (g *gate) Sent(bytes int) { g.s.answers.Give(g.a, int64(bytes)) }

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
