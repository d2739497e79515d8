package backend

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// MonitorOptions say which calls are told.
type MonitorOptions struct {
	Method   string  // those of methods whose names begin so
	UID      *uint32 `wire:"uid,optional"` // of this user; nil: of all
	SlowerUs uint64  // that took as long or longer, in us
}

// Call is a call that has ended; stoa.v1.MonitoredCall says what its fields are.
type Call struct {
	TimeMs       uint64
	Method       string
	UID          uint32
	PID          int64
	TookUs       uint64
	WaitedUs     uint64
	Code         string
	Kind         string
	RequestBytes uint64
	Missed       uint64
}

// Daemon does the operations of the Admin service.
type Daemon interface {
	// Status returns what the daemon is, how it is, and what who asks may do.
	Status(ctx context.Context) *stoav1.StatusResponse
	// Peers returns what each peer may do, and what those who are connected take.
	Peers() *stoav1.PeersResponse
	// Monitor yields calls as they end, until ctx does.
	Monitor(ctx context.Context, o MonitorOptions) iter.Seq2[Call, error]
	// Stats returns counts and sizes of the engine.
	Stats() (engine.Stats, error)
	// Checkpoint makes a copy of the store in a directory.
	Checkpoint(dir string) error
	// Compact rewrites the tables of the keys of a column that are in a range and begin
	// with prefix; those of all columns if it is 0.
	Compact(ctx context.Context, col column.Column, r engine.Range, prefix []byte) error
	// Flush writes what is in memory to tables.
	Flush() error
	// Reopen closes and opens the engine after a fault.
	Reopen() (engine.Health, error)
	// Find looks for what a name or the first digits of an id mean.
	Find(ctx context.Context, q naming.Query) (naming.Answer, error)
}
