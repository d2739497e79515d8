package lock

import (
	"errors"
	"fmt"
	"time"
)

// Code is what kind of refusal an [Error] is. The list is stable: clients act on the
// codes.
type Code string

// The codes of refusals.
const (
	CodeInvalidArgument Code = "INVALID_ARGUMENT"
	CodeHeld            Code = "LOCK_HELD"
	CodeNotHolder       Code = "NOT_HOLDER"
	CodeMaxTTL          Code = "MAX_TTL"
	CodeCapacity        Code = "CAPACITY"
	CodeDeadlock        Code = "DEADLOCK"
	CodeWaitTimeout     Code = "WAIT_TIMEOUT"
	CodeFenced          Code = "FENCED"
	CodeCancelled       Code = "CANCELLED"
	CodeTooMany         Code = "TOO_MANY"
	CodeNotFound        Code = "NOT_FOUND"
	CodeRateLimited     Code = "RATE_LIMITED"
)

// Error is a refusal: nothing is written.
type Error struct {
	Code   Code   `json:"code"`
	Field  string `json:"field,omitempty"` // the argument that it is about
	Reason string `json:"message"`         // what is wrong and what to do, for people
	Lock   string `json:"lock,omitempty"`
	// Holders are the agents that hold the lock, of LOCK_HELD, and Remaining is how long the
	// first of them to end has left; of RATE_LIMITED in how long the agent may ask again.
	Holders   []string      `json:"holders,omitempty"`
	Remaining time.Duration `json:"remaining,omitempty"`
	// Token is the greatest one of the holders that there are, of FENCED; 0: nobody holds it.
	Token uint64 `json:"token,omitempty"`
	// Cycle is who waits for whom, of DEADLOCK: each for the next, and the last for the first,
	// which is who asked.
	Cycle []string `json:"cycle,omitempty"`
	// Limit and Have are numbers where the refusal is about some.
	Limit uint64 `json:"max,omitempty"`
	Have  uint64 `json:"have,omitempty"`
}

// Error says code, lock, field and reason.
func (e *Error) Error() string {
	text := "lock: " + string(e.Code)
	for _, part := range []string{e.Lock, e.Field, e.Reason} {
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
	// ErrHeld is returned to who does not wait for a lock that others hold, or wait for.
	ErrHeld error = &Error{Code: CodeHeld}
	// ErrNotHolder is returned to who does not hold the lock, or not any more.
	ErrNotHolder error = &Error{Code: CodeNotHolder}
	// ErrMaxTTL is returned where a lock would be held for longer than may be.
	ErrMaxTTL error = &Error{Code: CodeMaxTTL}
	// ErrCapacity is returned to an agent that has as many tasks as it can do, or takes
	// no more.
	ErrCapacity error = &Error{Code: CodeCapacity}
	// ErrDeadlock is returned to who would wait for itself.
	ErrDeadlock error = &Error{Code: CodeDeadlock}
	// ErrWaitTimeout is returned to who has waited for as long as it wanted to.
	ErrWaitTimeout error = &Error{Code: CodeWaitTimeout}
	// ErrFenced is returned by a write whose guard does not hold.
	ErrFenced error = &Error{Code: CodeFenced}
	// ErrCancelled is returned to who waits where the store is closed or the tenant dropped.
	ErrCancelled error = &Error{Code: CodeCancelled}
	// ErrTooMany is returned where a bound of this package is reached.
	ErrTooMany error = &Error{Code: CodeTooMany}
	// ErrRateLimited is returned to an agent that asks for more locks than it may within a
	// minute.
	ErrRateLimited error = &Error{Code: CodeRateLimited}
	// ErrNotFound is returned where nobody holds a lock, or an agent is not registered.
	ErrNotFound error = &Error{Code: CodeNotFound}
)

func refuse(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) *Error {
	return refuse(CodeInvalidArgument, field, format, args...)
}

func tooMany(field string, limit int, format string, args ...any) *Error {
	e := refuse(CodeTooMany, field, format, args...)
	e.Limit = uint64(limit)
	return e
}

// about is err with the name of the lock, if it is a refusal.
func about(err error, name string) error {
	var e *Error
	if errors.As(err, &e) && e.Lock == "" {
		named := *e
		named.Lock = name
		return &named
	}
	return err
}
