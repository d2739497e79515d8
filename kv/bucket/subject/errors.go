package subject

import (
	"fmt"
	"unicode/utf8"
)

// Kind is what an [Error] is about.
type Kind string

// The kinds of what is refused.
const (
	KindKey     Kind = "key"
	KindFilter  Kind = "filter"
	KindEscaped Kind = "escaped token"
	KindSegment Kind = "segment"
	KindULID    Kind = "ULID"
)

// Error says what is wrong with a text. It shows at most one character of it.
type Error struct {
	Kind   Kind
	At     int    // which byte is wrong, from 0; the length of the text where something is missing
	Reason string // what is wrong, and what to do
}

// Error says kind, byte and reason.
func (e *Error) Error() string {
	return fmt.Sprintf("subject: %s: byte %d: %s", e.Kind, e.At, e.Reason)
}

// Is reports whether target is an Error of the same kind and without a reason, as the Err
// variables are.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Reason == ""
}

// What errors.Is finds; each is the refusals of one kind.
var (
	// ErrKey is returned for a text that is no key.
	ErrKey error = &Error{Kind: KindKey}
	// ErrFilter is returned for a text that is no filter, and for too many filters.
	ErrFilter error = &Error{Kind: KindFilter}
	// ErrEscaped is returned for a token that Escape does not make.
	ErrEscaped error = &Error{Kind: KindEscaped}
	// ErrSegment is returned for a token that Segment does not make.
	ErrSegment error = &Error{Kind: KindSegment}
	// ErrULID is returned for a text that is no ULID, and for a time that none has.
	ErrULID error = &Error{Kind: KindULID}
)

func refuse(kind Kind, at int, format string, args ...any) *Error {
	return &Error{Kind: kind, At: at, Reason: fmt.Sprintf(format, args...)}
}

// character is the one at a byte of a text, as it is shown.
func character(text string, at int) string {
	r, size := utf8.DecodeRuneInString(text[at:])
	if r == utf8.RuneError && size <= 1 {
		return fmt.Sprintf("byte %#02x", text[at])
	}
	return fmt.Sprintf("%q", r)
}
