package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/seal"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// How a source reads its store.
const (
	ReadOnly  = "read-only" // a directory that nobody has open
	Secondary = "secondary" // a directory beside the process that has it open
	Daemon    = "daemon"    // through a socket
)

// Facts are what a source says of its store as a whole.
type Facts struct {
	Where    string   `json:"where"` // the directory or the socket
	How      string   `json:"how"`   // ReadOnly, Secondary or Daemon
	Schema   uint32   `json:"schema_version"`
	NodeID   string   `json:"node_id,omitempty"`      // in hex
	Sequence uint64   `json:"sequence,string"`        // changes since the store was made
	Clean    bool     `json:"clean"`                  // it had been shut down in order
	Lost     uint64   `json:"lost"`                   // changes that had been on disk and are gone
	Cut      string   `json:"manifest_cut,omitempty"` // what the manifest lacks of what it had on disk
	Unlisted []string `json:"unlisted,omitempty"`     // tables with changes that the manifest has lost
	Logs     []string `json:"logs_cut,omitempty"`     // logs that had more on disk, though more came after them
	Left     []string `json:"left,omitempty"`         // what is behind a hole in what was not known to be on disk
	Kept     []string `json:"kept,omitempty"`         // files with what recoveries have left
	// Unfinished is what was to make the store and was broken off, or is under way.
	Unfinished string   `json:"unfinished,omitempty"`
	Sealed     bool     `json:"sealed"`            // its secrets are
	Opened     bool     `json:"opened,omitempty"`  // and the key to them is at hand
	Unknown    []string `json:"unknown,omitempty"` // what this build does not know
	Problems   []string `json:"problems,omitempty"`
	Notes      []string `json:"notes,omitempty"` // what a daemon says of how it found its store
}

// unfinished says that the store is not whole.
func (f *Facts) unfinished() string {
	return "the store is not whole: it is what " + f.Unfinished + " has left"
}

// Source is a store that is only read, in one state. Any number of goroutines
// may read it at once.
type Source struct {
	engine.Reader
	// Facts are of the store as it was opened.
	Facts Facts
	// Locks returns those of a tenant as they are now, from the daemon whose store it is: who
	// waits for them is in no row. nil: it is read without one.
	Locks func(tenant string) Locks

	dir   string // "": it is read through a daemon
	mu    sync.Mutex
	ends  map[column.Column][][]byte // of damaged blocks
	stats func() (engine.Stats, error)
	today func() (Facts, error) // nil: Facts do not change
	now   func() (engine.Health, error)
	close []func() error // the last first
	// collections are those that are known; they are parsed when the first is asked for.
	collections func() (collections, error)
}

// Locks are the locks of a tenant, and who waits for them.
type Locks interface {
	// List returns a page of those that are held; see [lock.Store.List].
	List(ctx context.Context, o lock.ListOptions) (lock.Page, error)
	// Queue returns who waits for a lock, in order.
	Queue(ctx context.Context, name string) ([]lock.Waiting, error)
}

// From returns a source of a reader that the caller has and closes.
func From(r engine.Reader, f Facts) *Source {
	return &Source{Reader: r, Facts: f, collections: sync.OnceValues(declared)}
}

// Options say how a directory is opened. The zero Options are the defaults.
type Options struct {
	// CacheBytes is the size of the block cache; 0: 32 MiB.
	CacheBytes int64
	// Key opens the secrets of a sealed store. The zero Key leaves them sealed; a
	// store that seals nothing needs none.
	Key seal.Key
	// Building opens what is there of a store that is being built as a whole one. Unset,
	// one that has not got as far as a database is rocks.ErrUnfinished.
	Building bool
}

// OpenDir opens the store in dir, and changes nothing of it: read-only, or as a
// secondary instance if a process has it open. What is unknown in it is in
// Facts. It returns the errors of rocks.Open.
func OpenDir(dir string, o Options) (*Source, error) {
	if o.CacheBytes == 0 {
		o.CacheBytes = 32 << 20
	}
	scratch, err := os.MkdirTemp("", "stoa-*")
	if err != nil {
		return nil, fmt.Errorf("inspect: a directory for what RocksDB writes: %w", err)
	}
	e, err := rocks.Open(dir, rocks.Options{ReadOnly: true, ScratchDir: scratch, CacheBytes: o.CacheBytes, Building: o.Building})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	r := e.Recovery()
	s := &Source{
		Reader: e, collections: sync.OnceValues(declared), dir: dir, stats: e.Stats, close: []func() error{func() error { return os.RemoveAll(scratch) }, e.Close},
		Facts: Facts{
			Where: dir, How: ReadOnly, Schema: e.SchemaVersion(), Sequence: r.Sequence, Clean: r.Clean, Lost: r.Lost,
			Cut: r.Cut, Unlisted: r.Unlisted, Logs: r.Logs, Left: r.Left, Kept: rocks.Kept(dir), Unfinished: r.Unfinished,
			Sealed: e.Sealed(), Unknown: e.Unknown(), Problems: r.Problems,
		},
	}
	if id := e.NodeID(); !id.IsZero() {
		s.Facts.NodeID = id.Hex()
	}
	if s.Facts.Sealed && !o.Key.IsZero() {
		row, err := e.SealRow()
		if err == nil {
			s.Reader, err = seal.Reader(e, row, o.Key)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.Facts.Opened = true
	}
	if e.Secondary() {
		s.Facts.How = Secondary
	}
	return s, nil
}

// Through returns a source of the daemon behind c, in the state of now, which
// closes c. What is read of it ends with ctx. It returns the errors of the client.
func Through(ctx context.Context, c *rpc.Client) (*Source, error) {
	facts, err := factsOf(ctx, c)
	if err != nil {
		return nil, err
	}
	snapshot, err := c.Store(ctx).Snapshot()
	if err != nil {
		return nil, err
	}
	s := From(snapshot, facts)
	s.stats, s.close = func() (engine.Stats, error) { return c.Stats(ctx) }, []func() error{c.Close, snapshot.Close}
	s.today = func() (Facts, error) { return factsOf(ctx, c) }
	s.Locks = func(tenant string) Locks { return c.Locks(tenant) }
	s.now = func() (engine.Health, error) {
		res, err := c.Status(ctx)
		return engine.Health{Writable: res.Health.GetWritable(), Reason: res.Health.GetReason()}, err
	}
	return s, nil
}

// factsOf returns what a daemon says of its store now.
func factsOf(ctx context.Context, c *rpc.Client) (Facts, error) {
	res, err := c.Status(ctx)
	if err != nil {
		return Facts{}, err
	}
	sequence := res.Recovery.GetSequence()
	if stats, err := c.Stats(ctx); err == nil { // an engine that fails may not have any
		sequence = stats.Sequence
	}
	return Facts{
		Where: c.Path(), How: Daemon, Schema: res.SchemaVersion, NodeID: res.NodeId, Sequence: sequence,
		Clean: res.Recovery.GetClean(), Notes: res.Recovery.GetNotes(),
	}, nil
}

// Today returns the facts as they are now: a daemon is asked for them again, whose store
// may have changed since it was opened; those of a directory are Facts. It returns the
// errors of the client.
func (s *Source) Today() (Facts, error) {
	if s.today == nil {
		return s.Facts, nil
	}
	return s.today()
}

// Now returns whether a daemon takes writes, and its counts and sizes. It returns the errors of
// the client, and engine.ErrUnsupported for a source that is none.
func (s *Source) Now() (h engine.Health, stats engine.Stats, err error) {
	if s.now == nil || s.stats == nil {
		return h, stats, engine.ErrUnsupported
	}
	if h, err = s.now(); err == nil {
		stats, err = s.stats()
	}
	return h, stats, err
}

// Keys returns about how many rows there are; 0: that is not known.
func (s *Source) Keys() uint64 {
	rows, _ := s.Extent()
	return rows
}

// Extent returns about how many rows there are, and how many bytes they take on disk; 0:
// that is not known.
func (s *Source) Extent() (rows, bytes uint64) {
	if s.stats == nil {
		return 0, 0
	}
	stats, err := s.stats()
	if err != nil {
		return 0, 0
	}
	for _, c := range stats.Columns {
		rows, bytes = rows+c.Keys, bytes+c.TableBytes+c.BlobBytes
	}
	return rows, bytes
}

// Close gives back what the source holds.
func (s *Source) Close() error {
	var errs []error
	for i := len(s.close) - 1; i >= 0; i-- {
		errs = append(errs, s.close[i]())
	}
	s.close = nil
	return errors.Join(errs...)
}
