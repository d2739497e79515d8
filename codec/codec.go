// Package codec turns records into the bytes the store keeps, and back: strict
// borsh, and raw bytes where the store does not look inside.
//
// Start at [Value], which every record type implements, and at [Types], which
// lists them for tools that meet records as bytes or as JSON. Each type has one
// description of its fields, its layout method, that encoding, decoding,
// checking, JSON in both directions and the field tables share, so that they
// cannot drift apart. README.md has the rules and a table of all types.
package codec

import (
	"errors"
	"strconv"
)

// ErrMalformed marks every refusal of this package: bytes that are not a value
// of the expected type, a value that has no valid bytes, or JSON that describes
// none. The error itself is an [*Error].
var ErrMalformed = errors.New("codec: malformed value")

// Value is a record type V that can be stored. The methods have value
// receivers, so that neither makes V escape to the heap; both are safe for
// concurrent use.
type Value[V any] interface {
	// AppendBinary appends the stored form of the value to dst and returns the
	// extended slice. Where the value has no valid stored form (an alias of 51
	// bytes, an unknown capability bit, an enum out of range) it returns dst as
	// it was, and an [*Error].
	AppendBinary(dst []byte) ([]byte, error)
	// Decode returns the value whose stored form is exactly src, and keeps no
	// reference to src. Anything else is an [*Error], and the zero V. Empty
	// lists and byte strings decode as nil. The receiver is not looked at.
	Decode(src []byte) (V, error)
}

// Error says which field of which type was refused, where, and why. It never
// carries the content of a secret field.
type Error struct {
	Type   string // the type's name as [Types] has it
	Field  string // the path of the field, as in services[1].name; empty: the value as a whole
	Offset int    // bytes from the start of the value; negative where there are no bytes, as in JSON
	Reason string
}

// Error returns, for example, "codec: ContextDagDeltaValue.parents at byte 32:
// count 268435455 larger than the input (0 bytes left)".
func (e *Error) Error() string {
	s := "codec: " + e.Type
	if e.Field != "" {
		s += "." + e.Field
	}
	if e.Offset >= 0 {
		s += " at byte " + strconv.Itoa(e.Offset)
	}
	return s + ": " + e.Reason
}

// Is reports whether target is [ErrMalformed], as which every Error counts.
func (e *Error) Is(target error) bool { return target == ErrMalformed }

// ended ends decoding: where it failed, v becomes the zero value.
func ended[V any](v *V, c *coder) error {
	err := c.done()
	if err != nil {
		*v = *new(V)
	}
	return err
}

// enumName returns the name of variant n of the enum typ.
func enumName(typ string, n uint8, names []string) string {
	if int(n) < len(names) {
		return names[n]
	}
	return typ + "(" + strconv.Itoa(int(n)) + ")"
}
