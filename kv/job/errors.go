package job

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/kv"
)

// Code is what kind of refusal an [Error] is. The list is stable: clients act on the
// codes.
type Code string

// The codes of refusals.
const (
	CodeInvalidArgument Code = "INVALID_ARGUMENT"
	CodeTooLarge        Code = "TOO_LARGE"
	CodeTooMany         Code = "TOO_MANY"
	CodeNotFound        Code = "NOT_FOUND"
	CodeFenced          Code = "FENCED"
)

// Error is a refusal: nothing is written.
type Error struct {
	Code   Code   `json:"code"`
	Field  string `json:"field,omitempty"` // the argument that it is about
	Reason string `json:"message"`         // what is wrong and what to do, for people
	// Token is that of the lease that there is, of FENCED; 0: there is none.
	Token uint64 `json:"token,omitempty"`
	// Limit and Have are numbers where the refusal is about some.
	Limit uint64 `json:"max,omitempty"`
	Have  uint64 `json:"have,omitempty"`
}

// Error says code, field and reason.
func (e *Error) Error() string {
	text := "job: " + string(e.Code)
	for _, part := range []string{e.Field, e.Reason} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

// Is reports whether target is an Error with the same code and nothing else, as the Err
// variables are.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Reason == ""
}

// What errors.Is finds; each is the refusals of one code.
var (
	ErrInvalidArgument error = &Error{Code: CodeInvalidArgument}
	// ErrTooLarge is returned for a job whose id, payload or failure is too long.
	ErrTooLarge error = &Error{Code: CodeTooLarge}
	// ErrTooMany is returned where a bound of this package, or the tenant's quota, is reached.
	ErrTooMany error = &Error{Code: CodeTooMany}
	// ErrNotFound is returned where a job is not there, and for a literal key of nothing.
	ErrNotFound error = &Error{Code: CodeNotFound}
	// ErrFenced is returned to a worker whose lease is over: the job may be another's by now,
	// or done, or cancelled.
	ErrFenced error = &Error{Code: CodeFenced}
	// ErrSpaceNotFound is returned once the tenant of queues has been dropped: open them again.
	ErrSpaceNotFound = kv.ErrSpaceNotFound
)

func refuse(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *Error {
	return refuse(CodeInvalidArgument, field, format, args...)
}

func tooLarge(field string, have, limit int) *Error {
	e := refuse(CodeTooLarge, field, "the %s has %d bytes, at most %d", field, have, limit)
	e.Limit, e.Have = uint64(limit), uint64(have)
	return e
}

// told is an error of the kv.Store as this package says it.
func told(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case kv.CodeQuotaExhausted:
		return &Error{Code: CodeTooMany, Field: "tenant", Limit: e.Limit, Have: e.Have, Reason: "the tenant has as many jobs as it may: cancel some that are dead, or raise its quota"}
	case kv.CodeInvalidTenant, kv.CodeInvalidArgument, kv.CodeInvalidCursor:
		return &Error{Code: CodeInvalidArgument, Field: e.Field, Limit: e.Limit, Have: e.Have, Reason: e.Reason}
	case kv.CodeNotFound:
		return noJob()
	}
	return err
}

func noJob() *Error {
	return refuse(CodeNotFound, "id", "there is no such job: it is done, was cancelled, or was never there")
}
