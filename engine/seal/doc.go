// Package seal keeps the secrets of a store sealed at rest: Identity, and the
// prefixes 0x25, 0x37 and 0x3A of Group.
//
// Start at Open, which wraps an engine: secrets are sealed before they reach its
// write-ahead log, and opened where they are read. README.md has the formats, and
// what sealing does and does not stop.
package seal

import "errors"

var (
	// ErrWrongKey is returned when a key does not open a store; nothing is
	// changed.
	ErrWrongKey = errors.New("seal: the wrong key")
	// ErrKey is returned for a key file or a passphrase that is none, or that
	// others may read.
	ErrKey = errors.New("seal: no usable key")
	// ErrPlain is returned where a key is given for a store that seals nothing,
	// and that is only read.
	ErrPlain = errors.New("seal: the store is not sealed")
)
