package stream

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
	CodeExists          Code = "EXISTS"
	CodeMismatch        Code = "WRONG_LAST"
	CodeFenced          Code = "FENCED"
)

// Error is a refusal: nothing is written.
type Error struct {
	Code   Code   `json:"code"`
	Field  string `json:"field,omitempty"` // the argument that it is about
	Reason string `json:"message"`         // what is wrong and what to do, for people
	// Limit and Have are numbers where the refusal is about some: a limit and what was asked
	// for; of WRONG_LAST the number that was expected and that of the last entry; of TRIMMED
	// the first entry that is kept and the one that is not.
	Limit uint64 `json:"max,omitempty"`
	Have  uint64 `json:"have,omitempty"`
}

// Error says code, field and reason.
func (e *Error) Error() string {
	text := "stream: " + string(e.Code)
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
	// ErrTooLarge is returned for an entry whose payload is too long, and for too many bytes
	// at once.
	ErrTooLarge error = &Error{Code: CodeTooLarge}
	// ErrTooMany is returned where a bound of this package is reached.
	ErrTooMany error = &Error{Code: CodeTooMany}
	// ErrTrimmed is returned where what comes next for a consumer is no longer kept, and for a
	// dead letter that is to be delivered again and whose entry is not.
	ErrTrimmed error = &Error{Code: CodeTrimmed}
	// ErrNotFound is returned where a stream or a consumer is not there.
	ErrNotFound error = &Error{Code: CodeNotFound}
	// ErrExists is returned where a stream or a consumer is there and is another than the one
	// that is to be made.
	ErrExists error = &Error{Code: CodeExists}
	// ErrMismatch is returned where the last entry of a stream is another than was expected.
	ErrMismatch error = &Error{Code: CodeMismatch}
	// ErrFenced is returned to who says what came of a delivery that is over: the entry was
	// delivered to another since, or is acknowledged, or a dead letter.
	ErrFenced error = &Error{Code: CodeFenced}
	// ErrSpaceNotFound is returned once the tenant of streams has been dropped: open them again.
	ErrSpaceNotFound = kv.ErrSpaceNotFound
)

func refuse(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *Error {
	return refuse(CodeInvalidArgument, field, format, args...)
}

// beyond is the refusal of more than a limit.
func beyond(code Code, field string, limit, have int, format string, args ...any) *Error {
	e := refuse(code, field, format, args...)
	e.Limit, e.Have = uint64(limit), uint64(have)
	return e
}

func noStreams() *Error {
	return refuse(CodeNotFound, "stream", "the tenant has no streams: create one")
}

func noStream(name string) *Error {
	return refuse(CodeNotFound, "stream", "there is no stream %q: create it, or look at the list of streams", name)
}

func noConsumer(stream, name string) *Error {
	return refuse(CodeNotFound, "consumer", "the stream %q has no consumer %q: create it, or look at the list of its consumers", stream, name)
}

func fenced() *Error {
	return refuse(CodeFenced, "delivery", "the delivery is over: the entry was delivered again since, or is acknowledged, or a dead letter")
}

// trimmed is the refusal of a consumer whose next entry is gone.
func trimmed(n, first uint64) *Error {
	e := refuse(CodeTrimmed, "consumer", "entry %d, which comes next, is no longer kept; the stream begins with %d by now: replay the consumer from there", n, first)
	e.Limit, e.Have = first, n
	return e
}

// told is an error of the kv.Store as this package says it.
func told(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case kv.CodeInvalidTenant, kv.CodeInvalidArgument, kv.CodeInvalidCursor:
		return &Error{Code: CodeInvalidArgument, Field: e.Field, Limit: e.Limit, Have: e.Have, Reason: e.Reason}
	}
	return err
}
