package engine

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/column"
)

// Errors of reading and writing.
var (
	// ErrNotFound is returned by Get when nothing is stored under the key.
	ErrNotFound = errors.New("engine: not found")
	// ErrConflict is returned by Apply and Update when an expectation of the
	// batch does not hold; nothing is written. The error is a *Conflict.
	ErrConflict = errors.New("engine: conflict")
	// ErrBatch is returned when a batch, or bytes that should be one, is not
	// well formed; nothing is written.
	ErrBatch = errors.New("engine: malformed batch")
	// ErrTooLarge is returned when a key, a value or a batch is over its limit
	// (MaxKey, MaxValue, MaxBatch); nothing is written.
	ErrTooLarge = errors.New("engine: too large")
	// ErrClosed is returned by every method of a closed engine, snapshot or
	// iterator. An open iterator of an engine or a snapshot that is closed may
	// yield what it was given ahead before.
	ErrClosed = errors.New("engine: closed")
	// ErrReadOnly is returned by every write of an engine that was opened
	// read-only, or that stopped writing after a fault of its storage; the
	// error says which, and Health says why.
	ErrReadOnly = errors.New("engine: read-only")
	// ErrNoSpace is returned by writes while the disk is nearly full; nothing is
	// written, and writes resume by themselves once there is room.
	ErrNoSpace = errors.New("engine: no space")
	// ErrCorrupt is returned when stored bytes are damaged: a checksum that
	// does not match, a file that is missing, a row that does not parse.
	ErrCorrupt = errors.New("engine: corrupt")
	// ErrUndetermined is returned by writes when it is not known whether they were made,
	// and may be made yet: a cluster lost the answer, and did not tell it when it was asked again.
	// Who knows what the write was to change looks for it before writing again.
	ErrUndetermined = errors.New("engine: undetermined")
	// ErrUnavailable is returned when what keeps the rows does not answer: a cluster, or the part of it
	// that has them; nothing is written. It may answer later.
	ErrUnavailable = errors.New("engine: unavailable")
	// ErrMoved is what a Transactor returns of a Write if other writers have changed what was read
	// since Begin; nothing is written, and the group is made again. Callers of an engine see
	// it if that has happened 100 times.
	ErrMoved = errors.New("engine: others keep changing what the write reads; try again")
	// ErrUnsupported is returned by an engine that has no such operation, as a
	// checkpoint of an engine that lives in memory.
	ErrUnsupported = errors.New("engine: unsupported")
)

// Errors of opening a directory.
var (
	// ErrLocked is returned when another process holds the directory.
	ErrLocked = errors.New("engine: locked")
	// ErrSchema is returned when a directory has another schema version, or a
	// column family that the schema does not know.
	ErrSchema = errors.New("engine: schema")
	// ErrNotDatabase is returned when a path is not a directory of the store:
	// a file, or a directory with something else in it.
	ErrNotDatabase = errors.New("engine: not a database")
	// ErrPlace is returned when a directory of the store is to be made where none
	// may be: within that of another; nothing is made.
	ErrPlace = errors.New("engine: no place for a store")
)

// Conflict says which expectation did not hold.
type Conflict struct {
	Column column.Column
	Key    []byte
	Absent bool // the batch expected that nothing is stored under Key
}

// Error names the key; it does not show the value, which may be secret.
func (c *Conflict) Error() string {
	want := "another value"
	if c.Absent {
		want = "nothing there"
	}
	key := fmt.Sprintf("%x", c.Key)
	if len(c.Key) > maxShownKey {
		key = fmt.Sprintf("%x… (%d bytes)", c.Key[:64], len(c.Key))
	}
	return fmt.Sprintf("engine: conflict: %s %s: the batch expected %s", c.Column, key, want)
}

// maxShownKey is the most bytes of a key that a text shows whole.
const maxShownKey = 1024

// Is reports whether target is ErrConflict.
func (c *Conflict) Is(target error) bool { return target == ErrConflict }
