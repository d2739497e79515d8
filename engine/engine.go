// Package engine stores keys and values, ordered by key, in columns.
//
// Engine is the contract that every implementation keeps and that package
// enginetest tests: engine/mem in memory, engine/rocks on RocksDB, engine/tikv on a cluster, and the
// client of package rpc over a socket. Get, Put, Scan and their like in
// typed.go are what most code uses; Batch and Range say what is written and
// read. README.md has the byte formats of batches and pages.
package engine

import (
	"fmt"
	"io"
	"time"

	"github.com/stoadb/stoa/column"
)

// Limits, in bytes.
const (
	MaxKey   = 32 + 65535 // the longest key: a context id and an app_key
	MaxValue = 16 << 20
	MaxBatch = 32 << 20 // the bytes of a batch and those of its expectations
)

// Getter reads single keys.
type Getter interface {
	// Get appends the value of key in col to dst and returns the result, which
	// belongs to the caller. It returns dst and ErrNotFound if nothing is
	// stored there. It does not keep key. Any number of goroutines may call it
	// at once.
	Get(dst []byte, col column.Column, key []byte) ([]byte, error)
}

// Reader reads the store. Any number of goroutines may use it at once.
type Reader interface {
	Getter
	// MultiGet looks up every key of lookups in one consistent state. It
	// appends the values to buf, and returns the grown buf, of which every
	// Value is a part; a key that is not there has Found false and is no
	// error.
	MultiGet(buf []byte, lookups []Lookup) ([]byte, error)
	// Iterate returns an iterator over the keys of col in r, in the state that
	// the store has at the time of the call. It does not keep the bounds. The
	// iterator must be closed.
	Iterate(col column.Column, r Range) (*Iterator, error)
}

// Lookup is one key of a MultiGet and what is stored under it.
type Lookup struct {
	Column column.Column
	Key    []byte
	Value  []byte // set by MultiGet: a part of its buffer, nil if not Found
	Found  bool   // set by MultiGet
}

// PlaceValues makes the Values of those that were found parts of buf, in which they lie one after the
// other from start on. Who appends them to a buffer does so at the end: before, it may grow.
func PlaceValues(buf []byte, start int, lookups []Lookup) {
	for i := range lookups {
		if l := &lookups[i]; l.Found {
			end := start + len(l.Value)
			l.Value, start = buf[start:end:end], end
		}
	}
}

// CheckColumn returns ErrBatch if there is no such column.
func CheckColumn(col column.Column) error {
	if !col.Valid() {
		return fmt.Errorf("%w: no column %d", ErrBatch, uint8(col))
	}
	return nil
}

// Writer changes the store.
type Writer interface {
	// Apply makes all changes of b, or none. When it returns nil they are
	// visible, and as durable as b.Durability says. It returns ErrConflict if
	// an expectation does not hold, ErrBatch or ErrTooLarge if b is not well
	// formed. It does not keep b. Any number of goroutines may call it at once;
	// their batches take effect one after the other.
	Apply(b *Batch) error
}

// Snapshot is the store as it was at one moment. It holds back the space of
// what has been overwritten since, until it is closed.
type Snapshot interface {
	Reader
	io.Closer
}

// Engine is a store.
type Engine interface {
	Reader
	Writer
	Maintenance
	// Update calls fn with the store as it is just before the changes that fn
	// puts into the batch, and then makes them all, or none if fn returns an
	// error, which Update returns. No other write comes between, so that fn may
	// read, compute and write. fn runs while all other writes wait: it must not
	// block, nor call the engine. It may be called more than once if writing
	// fails; only its last call counts. The batch is empty, durable by default,
	// and not to be kept. The Getter is a Reader too, for who must read a range
	// and keeps it short, as an [Overlay] over it does; an iterator of it is for one
	// goroutine, and is to be closed before fn returns.
	Update(fn func(Getter, *Batch) error) error
	// Snapshot returns the store as it is now.
	Snapshot() (Snapshot, error)
	// Close waits for calls under way, makes all writes durable, and gives back
	// everything, iterators and snapshots included. Every later call, Close
	// too, returns ErrClosed. An iterator that is open then may still yield the
	// entries that it was given ahead, and ends with ErrClosed unless those were
	// the last.
	Close() error
}

// Maintenance is what operators and tools ask of an engine.
type Maintenance interface {
	// Health says whether the engine takes writes.
	Health() Health
	// Reopen closes and opens the storage after a fault that made the engine
	// read-only. Iterators and snapshots are closed by it. What is there is what
	// could be read before, without the writes that were refused: who has kept
	// some of it in memory goes on with that. It does nothing if the engine is
	// well.
	Reopen() error
	// Stats returns counts and sizes. Counts of keys are estimates.
	Stats() (Stats, error)
	// ApproximateSize returns about how many bytes the keys of col in r take on
	// disk, without reading them.
	ApproximateSize(col column.Column, r Range) (uint64, error)
	// Flush writes what is in memory to tables and waits for it.
	Flush() error
	// Compact rewrites the keys of col in r and waits for it.
	Compact(col column.Column, r Range) error
	// Checkpoint makes a copy of the store, in one consistent state, in a
	// directory that must not exist. Files that do not change are hard links
	// where dir is on the same file system.
	Checkpoint(dir string) error
}

// Health says whether an engine takes writes.
type Health struct {
	Writable bool
	Reason   string // why not, and what to do; empty if Writable
}

// Stats are counts and sizes of an engine. Sizes are in bytes.
type Stats struct {
	Sequence      uint64 // changes made since the store was made
	WALBytes      uint64 // write-ahead log
	MemtableBytes uint64
	CacheBytes    uint64 // block cache in use
	CacheCapacity uint64
	Snapshots     uint64    // open snapshots
	Stopped       bool      // writes are stopped until compaction has caught up
	SlowWrite     SlowWrite // not over a socket
	Columns       []ColumnStats
}

// SlowWrite is the last write to the storage that took 100 ms or more; zero: none has since the
// store was opened.
type SlowWrite struct {
	Ended   time.Time
	Took    time.Duration
	Stalled bool // it waited for compaction; else for the disk
}

// ColumnStats are the counts and sizes of one column.
type ColumnStats struct {
	Column            column.Column
	Keys              uint64 // estimated
	TableBytes        uint64 // tables on disk
	BlobBytes         uint64 // blob files on disk
	MemtableBytes     uint64
	PendingCompaction uint64 // bytes that compaction still has to rewrite
	Tables            uint64
}
