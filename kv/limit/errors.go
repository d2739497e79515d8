package limit

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
	CodeInvalidCursor   Code = "INVALID_CURSOR"
	CodeNotFound        Code = "NOT_FOUND"
	CodeTooMany         Code = "TOO_MANY"
)

// Error is a refusal: nothing is written. That a limit is reached is none, but what
// [Store.Check] says.
type Error struct {
	Code   Code   `json:"code"`
	Field  string `json:"field,omitempty"` // the argument that it is about
	Reason string `json:"message"`         // what is wrong and what to do, for people
	// Limit and Have are numbers where the refusal is about some.
	Limit uint64 `json:"max,omitempty"`
	Have  uint64 `json:"have,omitempty"`
}

// Error says code, field and reason.
func (e *Error) Error() string {
	text := "limit: " + string(e.Code)
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
	ErrInvalidCursor   error = &Error{Code: CodeInvalidCursor}
	// ErrNotFound is returned where nothing of a limit counts any more.
	ErrNotFound error = &Error{Code: CodeNotFound}
	// ErrTooMany is returned where the tenant has as many limits as it may.
	ErrTooMany error = &Error{Code: CodeTooMany}
)

func refuse(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *Error {
	return refuse(CodeInvalidArgument, field, format, args...)
}

func nothing() *Error {
	return refuse(CodeNotFound, "", "nothing of the limit counts: it was not asked within its window")
}

// told is an error of the substrate as callers are told it.
func told(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case kv.CodeQuotaExhausted:
		return &Error{Code: CodeTooMany, Field: "tenant", Limit: e.Limit, Have: e.Have, Reason: "the tenant has as many limits as it may: wait for some windows to be over, or raise its quota"}
	case kv.CodeInvalidTenant, kv.CodeInvalidArgument:
		return &Error{Code: CodeInvalidArgument, Field: e.Field, Limit: e.Limit, Have: e.Have, Reason: e.Reason}
	case kv.CodeInvalidCursor:
		return refuse(CodeInvalidCursor, "cursor", "%s", e.Reason)
	}
	return err
}
