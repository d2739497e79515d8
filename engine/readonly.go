package engine

import "github.com/stoadb/stoa/column"

// ReadOnly returns an engine over what r reads, for code that wants one: a
// directory that was opened read-only, or a snapshot. Writes return ErrReadOnly,
// what is about files ErrUnsupported. Its snapshots are r itself. Closing it does
// nothing: r is its owner's, and must outlive it.
func ReadOnly(r Reader) Engine { return readOnly{r} }

type readOnly struct{ Reader }

// Apply returns ErrReadOnly.
func (readOnly) Apply(*Batch) error { return ErrReadOnly }

// Update returns ErrReadOnly, and does not call the function.
func (readOnly) Update(func(Getter, *Batch) error) error { return ErrReadOnly }

// Snapshot returns the engine itself: what it reads does not change.
func (e readOnly) Snapshot() (Snapshot, error) { return e, nil }

// Close does nothing.
func (readOnly) Close() error { return nil }

// Health says that nothing is written.
func (readOnly) Health() Health { return Health{Reason: "it is only read"} }

// Reopen returns ErrReadOnly.
func (readOnly) Reopen() error { return ErrReadOnly }

// Stats returns ErrUnsupported.
func (readOnly) Stats() (Stats, error) { return Stats{}, ErrUnsupported }

// ApproximateSize returns ErrUnsupported.
func (readOnly) ApproximateSize(column.Column, Range) (uint64, error) { return 0, ErrUnsupported }

// Flush returns ErrReadOnly.
func (readOnly) Flush() error { return ErrReadOnly }

// Compact returns ErrReadOnly.
func (readOnly) Compact(column.Column, Range) error { return ErrReadOnly }

// Checkpoint returns ErrUnsupported.
func (readOnly) Checkpoint(string) error { return ErrUnsupported }
