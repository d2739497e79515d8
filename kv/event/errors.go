package event

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
	CodeTrimmed         Code = "TRIMMED"
	CodeNotFound        Code = "NOT_FOUND"
)

// Error is a refusal: nothing is written.
type Error struct {
	Code   Code   `json:"code"`
	Field  string `json:"field,omitempty"` // the argument that it is about
	Reason string `json:"message"`         // what is wrong and what to do, for people
	// First is where the stream begins by now, of TRIMMED: the first entry that is kept or,
	// where none is, the id that the next one has or is before.
	First ID `json:"first,omitzero"`
	// Limit and Have are numbers where the refusal is about some.
	Limit uint64 `json:"max,omitempty"`
	Have  uint64 `json:"have,omitempty"`
}

// Error says code, field and reason.
func (e *Error) Error() string {
	text := "event: " + string(e.Code)
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
	// ErrTooLarge is returned for an event whose name, source or payload is too long.
	ErrTooLarge error = &Error{Code: CodeTooLarge}
	// ErrTooMany is returned where a bound of this package is reached.
	ErrTooMany error = &Error{Code: CodeTooMany}
	// ErrTrimmed is returned where what comes next for a reader or a group is no longer kept.
	ErrTrimmed error = &Error{Code: CodeTrimmed}
	// ErrNotFound is returned where a group is not there, and for a literal key of nothing.
	ErrNotFound error = &Error{Code: CodeNotFound}
	// ErrSpaceNotFound is returned once the tenant of a feed has been dropped: open it again.
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

func tooMany(field string, limit int, format string, args ...any) *Error {
	e := refuse(CodeTooMany, field, format, args...)
	e.Limit = uint64(limit)
	return e
}

// told is an error of the kv.Store as this package says it.
func told(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case kv.CodeInvalidTenant, kv.CodeInvalidArgument:
		return &Error{Code: CodeInvalidArgument, Field: e.Field, Limit: e.Limit, Have: e.Have, Reason: e.Reason}
	case kv.CodeNotFound:
		return refuse(CodeNotFound, "group", "the stream has no such group: create it, or look at the list of groups")
	}
	return err
}
