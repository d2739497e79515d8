package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// unary is around every call that is not a stream: its bytes count as in
// flight, it has a deadline, its panics are faults, its errors have kinds.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (res any, err error) {
	s.active.Add(1)
	defer s.active.Add(-1)
	a, size := accountOf(ctx), sizeOf(req)
	var waited time.Duration
	if s.observes(ctx) {
		defer s.ended(ctx, observed{method: info.FullMethod, begun: s.o.Now(), size: size}, &waited, &err)
	}
	defer s.recovered(ctx, info.FullMethod, &err)
	if err := s.permit(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	a.Called()
	if err := s.inFlight.Take(a, size); err != nil {
		return nil, err
	}
	defer s.inFlight.Give(a, size)
	if _, ok := ctx.Deadline(); !ok && ours(info.FullMethod) && !s.methods[info.FullMethod].Long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.o.CallTimeout)
		defer cancel()
	}
	if a.Limited() && ours(info.FullMethod) {
		res, waited, err = s.inTurn(ctx, a, s.methods[info.FullMethod], size, func() (any, error) { return next(ctx, req) })
	} else {
		res, err = next(ctx, req)
	}
	if err != nil {
		return nil, s.publish(ctx, info.FullMethod, err)
	}
	return res, nil
}

// accountOf returns what the connection of a call takes.
func accountOf(ctx context.Context) *limit.Account {
	who, _ := framed.PeerFrom(ctx)
	return who.Account
}

// sizeOf returns how many bytes a request takes.
func sizeOf(req any) int64 {
	switch m := req.(type) {
	case wire.Sized: // a framed.Scratch is one
		return int64(m.Size())
	case proto.Message:
		return int64(proto.Size(m))
	}
	return 0
}

const (
	blobPrefix      = "/stoa.v1.Blob/"
	lockAcquire     = "Lock.Acquire"
	dagPrefix       = "/stoa.v1.Dag/"
	namespacePrefix = "/stoa.v1.Namespace/"
	groupPrefix     = "/stoa.v1.Group/"
)

// stream is around every stream. What it carries is counted where it is handled.
func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	s.active.Add(1)
	defer s.active.Add(-1)
	if s.observes(ss.Context()) {
		defer s.ended(ss.Context(), observed{method: info.FullMethod, begun: s.o.Now(), stream: true}, new(time.Duration), &err)
	}
	defer s.recovered(ss.Context(), info.FullMethod, &err)
	if err := s.permit(ss.Context(), info.FullMethod); err != nil {
		return err
	}
	if ours(info.FullMethod) {
		err = s.sharedStream(accountOf(ss.Context()), ss, func(ss grpc.ServerStream) error { return next(srv, ss) })
	} else {
		err = s.untilStopping(ss.Context(), func() error { return next(srv, ss) })
	}
	if err != nil {
		return s.publish(ss.Context(), info.FullMethod, err)
	}
	return nil
}

// ours reports whether a method is one of Stoa's own: its calls have a time, and its
// streams end by themselves when the server stops.
func ours(method string) bool { return strings.HasPrefix(method, "/stoa.") }

// untilStopping returns when work does, or when the server stops: a watch of
// gRPC's own services goes on as long as its client likes.
func (s *Server) untilStopping(ctx context.Context, work func() error) error {
	select {
	case err := <-s.Detached(ctx, work):
		return err
	case <-s.stopping:
		return limit.Stopping()
	}
}

// recovered turns a panic into a fault, which goes to err.
func (s *Server) recovered(ctx context.Context, method string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	*err = s.fault(ctx, method, fmt.Errorf("panic: %v", p), slog.String("stack", string(debug.Stack())))
}

// publish returns err as the peer may see it. What is not foreseen goes to the
// log, and the peer gets its number there.
func (s *Server) publish(ctx context.Context, method string, err error) error {
	var field *op.FieldError
	if errors.As(err, &field) {
		err = badField(field.Field, field.Reason)
	}
	if known := fault.Describe(err); known != nil {
		if errors.Is(err, engine.ErrCorrupt) {
			s.log.ErrorContext(ctx, "damage found", "method", method, "error", err)
		}
		return known
	}
	if ended := ctx.Err(); ended != nil {
		return status.FromContextError(ended).Err()
	}
	if _, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return err // gRPC's own
	}
	return s.fault(ctx, method, err)
}

// fault logs err and returns what the peer is told of it.
func (s *Server) fault(ctx context.Context, method string, err error, more ...slog.Attr) error {
	var number [8]byte
	incident := "none"
	if _, failed := s.o.Rand.Read(number[:]); failed == nil {
		incident = fmt.Sprintf("%016x", binary.BigEndian.Uint64(number[:]))
	}
	attrs := append([]slog.Attr{slog.String("incident", incident), slog.String("method", method), slog.Any("error", err)}, more...)
	s.log.LogAttrs(ctx, slog.LevelError, "a call failed for a reason that was not foreseen", attrs...)
	return fault.New(stoav1.ErrorKind_ERROR_KIND_INTERNAL,
		"rpc: internal error: the daemon's log has it as incident "+incident, fault.FieldIncident, incident)
}
