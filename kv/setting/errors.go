package setting

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
	CodeValidation Code = "VALIDATION_ERROR"
	CodeTooMany    Code = "TOO_MANY"
)

// Error is a refusal: nothing is written.
type Error struct {
	Code   Code   `json:"code"`
	Field  string `json:"field,omitempty"` // the argument that it is about
	Reason string `json:"message"`         // what is wrong and what to do, for people
	Name   string `json:"name,omitempty"`  // of the setting
	// Limit and Have are numbers where the refusal is about some.
	Limit uint64 `json:"max,omitempty"`
	Have  uint64 `json:"have,omitempty"`
}

// Error says code, setting, field and reason.
func (e *Error) Error() string {
	text := "setting: " + string(e.Code)
	for _, part := range []string{e.Name, e.Field, e.Reason} {
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
	// ErrValidation is returned for a name that no setting has, and for a value that is not
	// of the type or within the bounds of its setting.
	ErrValidation error = &Error{Code: CodeValidation}
	// ErrTooMany is returned where the quota of the tenant has no room.
	ErrTooMany error = &Error{Code: CodeTooMany}
)

func invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeValidation, Field: field, Reason: fmt.Sprintf(format, args...)}
}

// told is an error of the substrate as callers are told it.
func told(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case kv.CodeQuotaExhausted:
		return &Error{Code: CodeTooMany, Field: "tenant", Limit: e.Limit, Have: e.Have, Reason: "the quota of the tenant's settings has no room: raise it"}
	case kv.CodeInvalidTenant, kv.CodeInvalidArgument:
		return &Error{Code: CodeValidation, Field: e.Field, Limit: e.Limit, Have: e.Have, Reason: e.Reason}
	}
	return err
}
