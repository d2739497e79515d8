// Package keys lays out every key of the store.
//
// Start at [Key]. A key type is a comparable struct whose fields are the parts
// of the key in the order in which they are stored. Its Slot method binds it, at
// compile time, to the column it lives in and to the type of the value stored
// there, so that a wrong value under a key does not compile. Building, encoding
// and parsing a key allocates nothing, but for variable parts over 64 bytes.
//
// [Schema] lists every key type to tools that meet keys as bytes; [Check] is what
// a server asks of every row before it is written. README.md has the tables.
package keys

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/column"
)

// ErrLayout marks every refusal of this package: bytes that are not a key of the
// expected type, a key that has no valid bytes, or a row that may not be
// written. The error itself is an [*Error].
var ErrLayout = errors.New("keys: wrong layout")

// Key is a type K of keys under which values of type V are stored. Keys sort in
// the order of their bytes. The methods are safe for concurrent use.
type Key[K, V any] interface {
	comparable
	// Slot returns the place of all keys of type K. The receiver is not looked at.
	Slot() Slot[V]
	// AppendBinary appends the bytes of the key to dst and returns the extended
	// slice. Where the key has no valid bytes (an unknown kind of alias, a zero
	// name, an app key of more than 65,535 bytes) it returns dst as it was, and
	// an [*Error].
	AppendBinary(dst []byte) ([]byte, error)
	// Parse returns the key whose bytes are exactly src, and keeps no reference
	// to src. Anything else is an [*Error], and the zero K. The receiver is not
	// looked at.
	Parse(src []byte) (K, error)
}

// Slot is where the keys of one type live. V is the type of their values.
type Slot[V any] struct {
	Column column.Column
	Tag    byte // the first byte of every key, in the Group column; elsewhere 0
	Size   int  // bytes of every key, Tag included; the fewest where MaxVar is not 0
	MaxVar int  // the most bytes that may follow
}

// MaxFixed is the length of the longest key whose length is fixed, in bytes.
const MaxFixed = 1 + 3*32

// MaxVariable is the most bytes that the variable part of a key takes.
const MaxVariable = 1<<16 - 1

// Error says which part of which key was refused, where, and why.
type Error struct {
	Column column.Column
	Type   string // the name of the key type; empty where none fits
	Field  string // the field as JSON names it; empty: the key as a whole
	Offset int    // bytes from the start of the key; negative where there are no bytes, as in JSON
	Reason string
}

// Error returns, for example, "keys: GroupMember in Group at byte 33: 33 bytes
// instead of 65".
func (e *Error) Error() string {
	s := "keys: "
	if e.Type == "" {
		s += "key"
	} else {
		s += e.Type
		if e.Field != "" {
			s += "." + e.Field
		}
	}
	s += " in " + e.Column.String()
	if e.Offset >= 0 {
		s += fmt.Sprintf(" at byte %d", e.Offset)
	}
	return s + ": " + e.Reason
}

// Is reports whether target is [ErrLayout], as which every Error counts.
func (e *Error) Is(target error) bool { return target == ErrLayout }
