package bucket

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/subject"
)

// Code is what kind of refusal an [Error] is. The list is stable: clients act on the
// codes.
type Code string

// The codes of refusals.
const (
	CodeInvalidArgument  Code = "INVALID_ARGUMENT"
	CodeNotFound         Code = "NOT_FOUND"
	CodeExists           Code = "EXISTS"
	CodeRevisionMismatch Code = "REVISION_MISMATCH"
	CodeValueTooLarge    Code = "VALUE_TOO_LARGE"
	CodeValidation       Code = "VALIDATION_ERROR"
	CodeForbidden        Code = "FORBIDDEN"
	CodeConflict         Code = "CONFLICT"
	CodeBlocked          Code = "BLOCKED"
	CodeTooMany          Code = "TOO_MANY"
)

// Error is a refusal: nothing is written, and no revision is used.
type Error struct {
	Code     Code   `json:"code"`
	Bucket   string `json:"bucket,omitempty"`
	Field    string `json:"field,omitempty"`    // the argument that it is about
	Key      string `json:"key,omitempty"`      // of the bucket
	Pointer  string `json:"pointer,omitempty"`  // where in the value, RFC 6901
	Reason   string `json:"message"`            // what is wrong and what to do, for people
	Revision uint64 `json:"revision,omitempty"` // that the key is at; 0: it never was, or nothing is known of it
	// Limit and Have are numbers where the refusal is about some.
	Limit uint64 `json:"max,omitempty"`
	Have  uint64 `json:"have,omitempty"`
}

// Error says code, bucket, field, key, pointer and reason.
func (e *Error) Error() string {
	text := "bucket: " + string(e.Code)
	for _, part := range []string{e.Bucket, e.Field, e.Key, e.Pointer, e.Reason} {
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
	// ErrInvalidArgument is returned for a key, a filter, a name or a number that none may be.
	ErrInvalidArgument error = &Error{Code: CodeInvalidArgument}
	// ErrNotFound is returned where there is no such bucket, key or revision.
	ErrNotFound error = &Error{Code: CodeNotFound}
	// ErrExists is returned by Create for a key that has a value, and for a bucket that is there.
	ErrExists error = &Error{Code: CodeExists}
	// ErrRevisionMismatch is returned where the key is not at the revision that was expected.
	ErrRevisionMismatch error = &Error{Code: CodeRevisionMismatch}
	// ErrValueTooLarge is returned for a value that is longer than the bucket takes.
	ErrValueTooLarge error = &Error{Code: CodeValueTooLarge}
	// ErrValidation is returned for a value that does not hold to the bucket's schema.
	ErrValidation error = &Error{Code: CodeValidation}
	// ErrForbidden is returned for a bucket of another service.
	ErrForbidden error = &Error{Code: CodeForbidden}
	// ErrConflict is returned where a plan is of another class than was acknowledged.
	ErrConflict error = &Error{Code: CodeConflict}
	// ErrBlocked is returned where a bucket is in the way of one that a contract declares.
	ErrBlocked error = &Error{Code: CodeBlocked}
	// ErrTooMany is returned where a quota has no room.
	ErrTooMany error = &Error{Code: CodeTooMany}
)

func refuse(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *Error {
	return refuse(CodeInvalidArgument, field, format, args...)
}

func noBucket(name string) *Error {
	e := refuse(CodeNotFound, "bucket", "there is no such bucket: a contract that declares it is to be accepted and reconciled, or an operator creates it")
	e.Bucket = name
	return e
}

func noKey(key string) *Error {
	e := refuse(CodeNotFound, "", "the key has no value")
	e.Key = key
	return e
}

// about is an error of a bucket and of a key of it, if that is known.
func about(err error, bucket, key string) error {
	err = told(err)
	if e := (*Error)(nil); errors.As(err, &e) && (e.Bucket == "" || e.Key == "") {
		of := *e
		of.Bucket = bucket
		if of.Key == "" {
			of.Key = key
		}
		return &of
	}
	return err
}

// told is an error of the substrate, or of the grammar of keys, as callers are told it.
func told(err error) error {
	if e := (*subject.Error)(nil); errors.As(err, &e) {
		return invalid(string(e.Kind), "byte %d: %s", e.At, e.Reason)
	}
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	of := &Error{Field: e.Field, Limit: e.Limit, Have: e.Have, Reason: e.Reason}
	switch e.Code {
	case kv.CodeQuotaExhausted:
		of.Code, of.Reason = CodeTooMany, "the quota has no room: delete something, or raise it"
	case kv.CodeValueTooLarge:
		of.Code, of.Reason = CodeValueTooLarge, "the value is longer than the bucket takes"
	case kv.CodeKeyTooLarge, kv.CodeInvalidTenant, kv.CodeInvalidArgument:
		of.Code = CodeInvalidArgument
	default:
		return err
	}
	return of
}
