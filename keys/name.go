package keys

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// Name is the name of an alias: 1 to 50 bytes of UTF-8 without NUL, zero padded
// on the right. The zero Name is none, and has no valid key.
type Name [codec.MaxAlias]byte

// NewName returns s as a Name; else [ErrLayout].
func NewName(s string) (n Name, err error) {
	if len(s) > len(n) {
		return n, nameError(fmt.Sprintf("%d bytes, more than %d", len(s), len(n)))
	}
	copy(n[:], s)
	if fault, _ := n.fault(); fault != "" {
		return Name{}, nameError(fault)
	}
	if n.length() != len(s) {
		return Name{}, nameError("NUL in the name")
	}
	return n, nil
}

func nameError(reason string) *Error {
	return &Error{Column: column.Alias, Type: "Alias", Field: "name", Offset: -1, Reason: reason}
}

// String returns the name without its padding.
func (n Name) String() string { return string(n[:n.length()]) }

// MarshalText returns what String does. It never fails.
func (n Name) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText accepts what [NewName] does; else [ErrLayout].
func (n *Name) UnmarshalText(text []byte) error {
	v, err := NewName(string(text))
	if err == nil {
		*n = v
	}
	return err
}

// length returns the number of bytes before the first zero.
func (n *Name) length() int {
	if i := bytes.IndexByte(n[:], 0); i >= 0 {
		return i
	}
	return len(n)
}

// fault says why the bytes are no name, and where.
func (n *Name) fault() (reason string, at int) {
	end := n.length()
	if end == 0 {
		return "empty name", 0
	}
	for i, b := range n[end:] {
		if b != 0 {
			return "a byte after the padding began", end + i
		}
	}
	if !utf8.Valid(n[:end]) {
		return "invalid UTF-8", 0
	}
	return "", 0
}
