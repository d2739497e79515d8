package condition

import (
	"fmt"
	"unicode/utf8"
)

// Error says what is wrong with a condition and where: in its source, from [Compile], or
// with what it was asked of, from [Program.Eval]. It never shows a value.
type Error struct {
	Line, Column int // of the source, from 1; in characters
	Reason       string
}

// Error says place and reason.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Reason) }

// fault is an error at a place that is not counted out yet.
type fault struct {
	at     int // characters before it in the source
	reason string
	// missing is set where something was asked for by a name that it does not have:
	// ?? and ?. go on with nil.
	missing bool
}

func (f *fault) Error() string { return f.reason }

func faultAt(at int, format string, args ...any) error {
	return &fault{at: at, reason: fmt.Sprintf(format, args...)}
}

func missingAt(at int, format string, args ...any) error {
	return &fault{at: at, reason: fmt.Sprintf(format, args...), missing: true}
}

// place returns the error at its line and column in the source.
func (f *fault) place(source string) *Error {
	e := &Error{Line: 1, Column: 1, Reason: f.reason}
	for at := 0; at < f.at; at++ {
		r, n := utf8.DecodeRuneInString(source)
		source = source[n:]
		e.Column++
		if r == '\n' {
			e.Line, e.Column = e.Line+1, 1
		}
	}
	return e
}
