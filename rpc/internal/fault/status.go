package fault

import (
	"context"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/engine"
)

// FromStatus returns what a call returned as an error of this package: an
// *Error, ErrUnavailable, an error that is context.Canceled or
// context.DeadlineExceeded, or err as it is.
func FromStatus(err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	for _, d := range s.Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != Domain {
			continue
		}
		e := &Error{Kind: kindNamed(info.GetReason()), Message: s.Message(), Fields: info.GetMetadata(), code: s.Code()}
		e.cause = e.rebuild()
		return e
	}
	return fromCode(s)
}

// failure is a status without details: an error of gRPC itself.
type failure struct {
	status *status.Status
	cause  error
}

func (f *failure) Error() string              { return f.cause.Error() + ": " + f.status.Message() }
func (f *failure) Unwrap() error              { return f.cause }
func (f *failure) GRPCStatus() *status.Status { return f.status }

func fromCode(s *status.Status) error {
	switch s.Code() {
	case codes.Canceled:
		return &failure{s, context.Canceled}
	case codes.DeadlineExceeded:
		return &failure{s, context.DeadlineExceeded}
	case codes.Unavailable:
		return &failure{s, ErrUnavailable}
	case codes.Unimplemented:
		return &failure{s, engine.ErrUnsupported}
	case codes.ResourceExhausted:
		if strings.Contains(s.Message(), "larger than max") {
			return &failure{s, engine.ErrTooLarge}
		}
		return &failure{s, ErrBusy}
	}
	return s.Err()
}
