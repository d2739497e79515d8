package kvstorage

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/kv"
)

// Code is what kind of refusal an [Error] is. The list is stable: clients act on
// the codes.
type Code string

// The codes.
const (
	InvalidArgument   Code = "invalid_argument"
	InvalidTenant     Code = "INVALID_TENANT"
	InvalidCursor     Code = "INVALID_CURSOR"
	CapabilityMissing Code = "host_capability_missing"
	KeyTooLarge       Code = "kv_key_too_large"
	ValueTooLarge     Code = "kv_value_too_large"
	TTLExceedsMax     Code = "kv_ttl_exceeds_max"
	NotANumber        Code = "kv_not_a_number"
	Overflow          Code = "kv_overflow"
	QuotaExhausted    Code = "kv_quota_exhausted"
	Conflict          Code = "kv_conflict"
	// LimitExceeded stands for the four codes of limits where Options.ErrorsV2 is
	// set; the error's Name says which limit.
	LimitExceeded Code = "storage_limit_exceeded"
)

// Error is a refusal: nothing is written. It never shows a key or a value.
type Error struct {
	Code   Code   `json:"code"`
	Field  string `json:"field,omitempty"` // the argument that it is about
	Reason string `json:"message"`         // for people
	// Name is the limit that was exceeded, as the capability document names it, or
	// quotaKeys or quotaBytes; with the codes of limits only.
	Name  string `json:"limit,omitempty"`
	Limit uint64 `json:"max,omitempty"`
	Have  uint64 `json:"have,omitempty"`
}

// Error says code, field and reason.
func (e *Error) Error() string {
	text := "kvstorage: " + string(e.Code)
	if e.Field != "" {
		text += ": " + e.Field
	}
	return text + ": " + e.Reason
}

// Is reports whether target is an Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func refuse(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}
}

func tooLarge(code Code, field, name string, limit, have uint64) *Error {
	return &Error{Code: code, Field: field, Name: name, Limit: limit, Have: have, Reason: fmt.Sprintf("%d, at most %d are allowed", have, limit)}
}

// clientError is the error as clients of the capability are told it; those of the
// machine, as a full disk, stay as they are.
func (s *Storage) clientError(err error) error {
	if err == nil { // what follows takes memory
		return nil
	}
	var inner *kv.Error
	var e *Error
	if errors.As(err, &inner) && codes[inner.Code] != "" {
		e = &Error{Code: codes[inner.Code], Field: inner.Field, Reason: inner.Reason, Limit: inner.Limit, Have: inner.Have}
		if e.Code == QuotaExhausted {
			e.Name = "quotaKeys"
			if e.Field == "bytes" {
				e.Name = "quotaBytes"
			}
		}
	}
	if e == nil && !errors.As(err, &e) {
		return err
	}
	if s.o.ErrorsV2 && e.Name != "" {
		short := *e
		short.Code = LimitExceeded
		return &short
	}
	return e
}

// codes are those of the refusals of the substrate that are refusals of the capability.
var codes = map[kv.Code]Code{
	kv.CodeInvalidArgument: InvalidArgument, kv.CodeInvalidTenant: InvalidTenant, kv.CodeInvalidCursor: InvalidCursor, kv.CodeQuotaExhausted: QuotaExhausted,
}
