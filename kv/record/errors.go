package record

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Code is what kind of refusal an [Error] is. The list is stable: clients act on
// the codes.
type Code string

// The codes of refusals.
const (
	CodeInvalidArgument   Code = "INVALID_ARGUMENT"
	CodeInvalidTenant     Code = "INVALID_TENANT"
	CodeInvalidCursor     Code = "INVALID_CURSOR"
	CodeInvalidKey        Code = "INVALID_KEY"
	CodeUnknownCollection Code = "UNKNOWN_COLLECTION"
	CodeNotFound          Code = "NOT_FOUND"
	CodeAlreadyExists     Code = "ALREADY_EXISTS"
	CodeValidation        Code = "VALIDATION_ERROR"
	CodeReserved          Code = "RESERVED"
	CodeImmutable         Code = "IMMUTABLE"
	CodeIllegalTransition Code = "ILLEGAL_TRANSITION"
	CodePrecondition      Code = "PRECONDITION"
	CodeConflict          Code = "CONFLICT"
	CodeTooLarge          Code = "TOO_LARGE"
	CodeQuotaExhausted    Code = "QUOTA_EXHAUSTED"
	CodeTrimmed           Code = "TRIMMED"
)

// Error is a refusal: nothing is written, and no revision is taken. It names fields,
// and never shows what a document has in them.
type Error struct {
	Code       Code   `json:"code"`
	Collection string `json:"collection,omitempty"`
	Field      string `json:"field,omitempty"` // of the document, with dots, as rules.0.action; or an argument
	Reason     string `json:"message"`         // what is wrong and what to do, for people
	// Revision is the one that the record has, of CONFLICT; 0: it is gone.
	Revision uint64 `json:"revision,omitempty"`
	// Limit and Have are numbers where the refusal is about some.
	Limit uint64 `json:"max,omitempty"`
	Have  uint64 `json:"have,omitempty"`
	// Detail is what else a refusal says, as JSON, where its code has something.
	Detail string `json:"detail,omitempty"`
}

// Error says code, collection, field and reason.
func (e *Error) Error() string {
	text := "record: " + string(e.Code)
	for _, part := range []string{e.Collection, e.Field, e.Reason} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

// Is reports whether target is an Error with the same code and nothing else, as the Err
// variables are, or, of NOT_FOUND, engine.ErrNotFound.
func (e *Error) Is(target error) bool {
	if target == engine.ErrNotFound {
		return e.Code == CodeNotFound
	}
	t, ok := target.(*Error)
	return ok && *t == Error{Code: e.Code}
}

// What errors.Is finds; each is the refusals of one code.
var (
	ErrInvalidArgument   error = &Error{Code: CodeInvalidArgument}
	ErrInvalidCursor     error = &Error{Code: CodeInvalidCursor}
	ErrInvalidKey        error = &Error{Code: CodeInvalidKey}
	ErrUnknownCollection error = &Error{Code: CodeUnknownCollection}
	ErrNotFound          error = &Error{Code: CodeNotFound}
	ErrAlreadyExists     error = &Error{Code: CodeAlreadyExists}
	ErrValidation        error = &Error{Code: CodeValidation}
	ErrReserved          error = &Error{Code: CodeReserved}
	ErrImmutable         error = &Error{Code: CodeImmutable}
	ErrIllegalTransition error = &Error{Code: CodeIllegalTransition}
	ErrPrecondition      error = &Error{Code: CodePrecondition}
	ErrConflict          error = &Error{Code: CodeConflict}
	ErrTooLarge          error = &Error{Code: CodeTooLarge}
	ErrTrimmed           error = &Error{Code: CodeTrimmed}
)

func refuse(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *Error {
	return refuse(CodeInvalidArgument, field, format, args...)
}

func malformed(field, format string, args ...any) *Error {
	return refuse(CodeValidation, field, format, args...)
}

func noRecord(id string) *Error {
	return refuse(CodeNotFound, "id", "there is no record with the id %q", shortened(id))
}

// Conflict says that a record has another revision than was expected; 0: it is gone.
func Conflict(expected, have uint64) *Error {
	e := refuse(CodeConflict, "revision", "the record has revision %d, not %d: read it again, and decide anew", have, expected)
	if have == 0 {
		e.Reason = fmt.Sprintf("revision %d of the record was expected, and it is gone", expected)
	}
	e.Revision = have
	return e
}

// Precondition is the refusal of a write that something else must come before, for
// Collection.Check.
func Precondition(field, format string, args ...any) *Error {
	return refuse(CodePrecondition, field, format, args...)
}

// shortened is a text for an error: one that is long is cut.
func shortened(text string) string {
	if len(text) > 64 {
		return text[:64] + "…"
	}
	return text
}

// told returns an error as callers of the collection are told it; those of the machine,
// as a full disk, stay as they are.
func (c *Collection) told(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if e.Collection != "" {
			return err
		}
		named := *e
		named.Collection = c.Name
		return &named
	}
	var inner *kv.Error
	if !errors.As(err, &inner) {
		return err
	}
	if !slices.Contains(passed, inner.Code) {
		return err
	}
	return &Error{Code: Code(inner.Code), Collection: c.Name, Field: inner.Field, Reason: inner.Reason, Limit: inner.Limit, Have: inner.Have}
}

// passed are the refusals of the substrate that are refusals of records, of the same
// names.
var passed = []kv.Code{kv.CodeInvalidArgument, kv.CodeInvalidTenant, kv.CodeInvalidCursor, kv.CodeQuotaExhausted, kv.CodeTrimmed}
