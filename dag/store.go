package dag

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// Options say how a [Store] works. The zero Options, but for Node, are the
// defaults.
type Options struct {
	Node            codec.NodeID     // this node; not zero
	Now             func() time.Time // the physical clock; nil: time.Now
	Uptime          *hlc.Uptime      // what the physical clock is held against; nil: SystemUptime where Now is nil too, else nothing
	Cache           *merkle.Cache    // pages of tries; nil: a cache of merkle.DefaultCache bytes
	MaxPending      int              // the most deltas of a context that wait; 0: 65,536
	MaxPendingBytes int64            // the most bytes that they take; 0: 256 MiB. A single delta may be larger.
	MaxRefused      int              // the most refusals of a context that are remembered; 0: 4,096
	MaxContexts     int              // about how many contexts are kept loaded; 0: 1,024
	MaxTail         int              // after how many deltas the rows of a context's trie are written, so many are read again where a process was killed; 0: 1,024
	BaseAge         time.Duration    // how old the base of a snapshot is at least; 0: 10 minutes; negative: any
	MaxSnapshots    int              // the most snapshots that are sent at a time; 0: 4
	SnapshotIdle    time.Duration    // how long a snapshot is held for its receiver to go on; 0: 5 minutes
	MaxJoined       int              // the most heads that a delta of this node's own has as parents; 0: [MaxParents], which it is at most
	CutBudget       int              // how much of the past Add looks at before it leaves a delta to the background; 0: 20,000 rows
	Log             *slog.Logger     // what the background has to say; nil: nothing
	// Damaged is for a store made by [View]: it is told of a row that is damaged, or
	// that is not there though others say so, and what is listed is what is left. It may
	// be called by many goroutines at once; its error ends the call that met the row.
	// Nil: damage does.
	Damaged func(col column.Column, key []byte, err error) error
}

// clock returns the options of the clock.
func (o *Options) clock() hlc.Options {
	return hlc.Options{Node: o.Node, Now: o.Now, Uptime: o.Uptime}
}

func (o *Options) setDefaults() error {
	if o.Node.IsZero() {
		return errors.New("dag: open: no node id")
	}
	if o.MaxPending < 0 || o.MaxPendingBytes < 0 || o.MaxRefused < 0 || o.MaxContexts < 0 || o.MaxTail < 0 || o.CutBudget < 0 ||
		o.MaxSnapshots < 0 || o.SnapshotIdle < 0 {
		return fmt.Errorf("dag: open: a negative limit in %+v", *o)
	}
	if o.MaxJoined < 0 || o.MaxJoined == 1 || o.MaxJoined > MaxParents {
		return fmt.Errorf("dag: open: %d heads joined by a delta: it may have 2 to %d parents", o.MaxJoined, MaxParents)
	}
	if o.Cache == nil {
		o.Cache = merkle.NewCache(0)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	setDefault(&o.MaxPending, 65_536)
	setDefault(&o.MaxPendingBytes, 256<<20)
	setDefault(&o.MaxRefused, 4096)
	setDefault(&o.MaxContexts, 1024)
	setDefault(&o.MaxTail, 1024)
	setDefault(&o.BaseAge, 10*time.Minute)
	setDefault(&o.CutBudget, 20_000)
	setDefault(&o.MaxJoined, MaxParents)
	setDefault(&o.MaxSnapshots, 4)
	setDefault(&o.SnapshotIdle, 5*time.Minute)
	return nil
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Store is the contexts of one engine: their deltas, state and roots. An engine
// has one Store at a time, and nobody else writes its rows. Any number of
// goroutines may use it at once.
type Store struct {
	db      engine.Engine
	options Options
	clock   *hlc.Clock
	past    *merkle.Cache // pages of tries that contexts have left; see keepPast
	tails   atomic.Int64  // bytes of pages that tails have changed

	viewing     bool  // made by View
	clockDamage error // of a view

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	calls  sync.WaitGroup // queues in use, reads, and the background
	work   notifier

	leases  leases
	seeding sync.Map // of codec.ContextID: those that a call of Seed is at work on

	mu     sync.Mutex
	queues writeQueues
	closed bool
}

// Open returns the store of what is in db, which must outlive it. It reads
// little: contexts are loaded when they are used. What waits and could be applied
// is applied in the background, until Close. It returns engine.ErrCorrupt for a
// damaged row of the clock or of what it looks through to find work, or the error of
// db; of a context whose seeding can't be ended it logs why.
func Open(db engine.Engine, o Options) (*Store, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	o.Damaged = nil
	clock, err := hlc.Open(db, db, o.clock())
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, options: o, clock: clock, past: merkle.NewCache(keptPast), queues: newWriteQueues(o.MaxContexts), work: newNotifier()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.leases.epoch = uint64(hlc.ToNTP64(clock.Now()))
	err = s.rollForwardAll()
	if err == nil {
		err = s.convertAll()
	}
	if err != nil {
		s.cancel()
		return nil, err
	}
	s.calls.Add(1)
	go s.background()
	if err := s.restoreAll(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the background work and all streams and waits for the calls under
// way. It does not close the engine. Later calls return [ErrClosed].
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.leases.close()
	s.calls.Wait()
	s.endTails()
	return nil
}

// enter begins a call that Close waits for, until s.calls.Done.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// Clock returns the clock that stamps the deltas of this store.
func (s *Store) Clock() *hlc.Clock { return s.clock }

// View returns the store of what is in r, which is only read and must outlive it:
// a directory that was opened read-only, or a snapshot. Nothing goes on in the
// background: what waits does, and the adoption of a snapshot that was broken off
// stays so. What writes returns engine.ErrReadOnly. A node need not be named. A clock
// that is damaged is none, since no stamp is made; [Store.ClockDamage] has the reason.
// With Options.Damaged, lists and streams go on behind rows that are damaged. It
// returns the error of r.
func View(r engine.Reader, o Options) (*Store, error) {
	if o.Node.IsZero() {
		o.Node.Lo = 1 // no stamp is made
	}
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	db := engine.ReadOnly(r)
	clock, err := hlc.Open(db, db, o.clock())
	damage := err
	switch {
	case errors.Is(err, engine.ErrCorrupt):
		clock = hlc.New(db, o.clock())
	case err != nil:
		return nil, err
	}
	s := &Store{db: db, options: o, clock: clock, past: merkle.NewCache(-1), viewing: true, clockDamage: damage, queues: newWriteQueues(o.MaxContexts), work: newNotifier()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// IsView reports whether the store was made by [View].
func (s *Store) IsView() bool { return s.viewing }

// beside returns nil for a damaged row that somebody is told of, and err for any
// other error.
func (s *Store) beside(err error) error {
	var d *rowDamage
	if s.options.Damaged == nil || !errors.As(err, &d) {
		return err
	}
	return s.options.Damaged(d.col, d.key, err)
}

// ClockDamage returns why the clock of a view cannot be read, which is
// engine.ErrCorrupt; nil if it can.
func (s *Store) ClockDamage() error { return s.clockDamage }

// ConfirmClock is [hlc.Clock.Confirm] of that clock, which it logs.
func (s *Store) ConfirmClock() (hlc.State, error) {
	state, err := s.clock.Confirm()
	if err == nil {
		s.options.Log.Warn("the system clock was confirmed", "time", state.Physical, "last_stamp", state.Last)
	}
	return state, err
}
