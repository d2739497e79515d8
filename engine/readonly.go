package engine

import "github.com/stoadb/stoa/column"

// ReadOnly returns an engine over what r reads, for code that wants one: a
// directory that was opened read-only, or a snapshot. Writes return ErrReadOnly,
// what is about files ErrUnsupported. Its snapshots are r itself. Closing it does
// nothing: r is its owner's, and must outlive it.
func ReadOnly(r Reader) Engine { return readOnly{r} }

type readOnly struct{ Reader }

// Apply is Writer's.
func (readOnly) Apply(*Batch) error { return ErrReadOnly }

// Update is Engine's.
func (readOnly) Update(func(Getter, *Batch) error) error { return ErrReadOnly }

// Snapshot is Engine's.
func (e readOnly) Snapshot() (Snapshot, error) { return e, nil }

// Close is Engine's.
func (readOnly) Close() error { return nil }

// Health is Maintenance's.
func (readOnly) Health() Health { return Health{Reason: "it is only read"} }

// Reopen is Maintenance's.
func (readOnly) Reopen() error { return ErrReadOnly }

// Stats is Maintenance's.
func (readOnly) Stats() (Stats, error) { return Stats{}, ErrUnsupported }

// ApproximateSize is Maintenance's.
func (readOnly) ApproximateSize(column.Column, Range) (uint64, error) { return 0, ErrUnsupported }

// Flush is Maintenance's.
func (readOnly) Flush() error { return ErrReadOnly }

// Compact is Maintenance's.
func (readOnly) Compact(column.Column, Range) error { return ErrReadOnly }

// Checkpoint is Maintenance's.
func (readOnly) Checkpoint(string) error { return ErrUnsupported }
