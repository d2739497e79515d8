package kv

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Code is what kind of refusal an [Error] is. The list is stable: clients act on
// the codes.
type Code string

// The codes of refusals.
const (
	CodeInvalidArgument Code = "INVALID_ARGUMENT"
	CodeInvalidTenant   Code = "INVALID_TENANT"
	CodeInvalidCursor   Code = "INVALID_CURSOR"
	CodeKeyTooLarge     Code = "KEY_TOO_LARGE"
	CodeValueTooLarge   Code = "VALUE_TOO_LARGE"
	CodeQuotaExhausted  Code = "QUOTA_EXHAUSTED"
	CodeNotFound        Code = "NOT_FOUND"
	CodeSpaceNotFound   Code = "NO_SPACE"
	CodeMismatch        Code = "REVISION_MISMATCH"
	CodeTrimmed         Code = "TRIMMED"
	CodeBusy            Code = "BUSY"
	CodeClosed          Code = "CLOSED"
)

// Error is a refusal: nothing is written. It never shows a key or a value.
type Error struct {
	Code  Code
	Field string // what it is about, as key, tenant, limit
	// Reason says what is wrong and what to do, for people.
	Reason string
	// Limit and Have are numbers where the refusal is about some: a limit and what
	// was asked for, or the revision that was expected and the one that is there.
	Limit, Have uint64
}

// Error says code, field and reason.
func (e *Error) Error() string {
	text := "kv: " + string(e.Code)
	if e.Field != "" {
		text += ": " + e.Field
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Is reports whether target is an Error with the same code and no field, as the
// Err variables are.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Field == ""
}

// What errors.Is finds; each is the refusals of one code.
var (
	ErrInvalidArgument error = &Error{Code: CodeInvalidArgument}
	ErrInvalidTenant   error = &Error{Code: CodeInvalidTenant}
	// ErrInvalidCursor is returned for a cursor that this store did not make for
	// this space and these options.
	ErrInvalidCursor error = &Error{Code: CodeInvalidCursor}
	ErrKeyTooLarge   error = &Error{Code: CodeKeyTooLarge}
	ErrValueTooLarge error = &Error{Code: CodeValueTooLarge}
	// ErrQuotaExhausted is returned by a change that would grow a space beyond its
	// quota.
	ErrQuotaExhausted error = &Error{Code: CodeQuotaExhausted}
	// ErrNotFound is returned where a record, a member, an entry or a group is not
	// there, or has expired.
	ErrNotFound error = &Error{Code: CodeNotFound}
	// ErrSpaceNotFound is returned for a space or a tenant that does not exist, or not
	// any more.
	ErrSpaceNotFound error = &Error{Code: CodeSpaceNotFound}
	// ErrMismatch is returned where a revision or a version was expected and
	// another is there.
	ErrMismatch error = &Error{Code: CodeMismatch}
	// ErrTrimmed is returned for a revision or an entry that is no longer kept.
	ErrTrimmed error = &Error{Code: CodeTrimmed}
	// ErrBusy is returned by a change that others overtook too often.
	ErrBusy error = &Error{Code: CodeBusy}
	// ErrClosed is returned by every method of a closed store.
	ErrClosed error = &Error{Code: CodeClosed}
)

func invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidArgument, Field: field, Reason: fmt.Sprintf(format, args...)}
}

func noSpace() *Error {
	return &Error{Code: CodeSpaceNotFound, Field: "space", Reason: "there is no such space, or it has been dropped: open it again"}
}

func notLogged(revision uint64, reason string) *Error {
	return &Error{Code: CodeTrimmed, Field: "revision", Have: revision, Reason: reason}
}

// damaged is the error of a row that does not parse. Its key is shown, its value
// is not.
func damaged(key []byte, reason string) error {
	return fmt.Errorf("kv: %w: %s %x: %s", engine.ErrCorrupt, column.Generic, key, reason)
}

// checkName refuses the name of a container, a group, a consumer or a job that
// is empty or too long.
func checkName(field string, name string) error {
	if len(name) == 0 || len(name) > MaxName {
		return invalid(field, "a name of %d bytes; it has 1 to %d", len(name), MaxName)
	}
	return nil
}

// unless returns err unless it is one that is expected.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
