package namespace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace/fair"
)

var (
	// ErrClosed is returned by a store that has been closed.
	ErrClosed = errors.New("namespace: the store is closed")
	// ErrNoNamespace is returned for a namespace whose creating op is not here.
	ErrNoNamespace = errors.New("namespace: no such namespace")
	// ErrNoIdentity is returned where this node has no identity in a namespace: make or
	// import one.
	ErrNoIdentity = errors.New("namespace: this node has no identity there")
	// ErrRestored is returned where this node would sign an op in a store that was restored
	// from a copy, before it has learned what it has signed since: see [Store.Resume].
	ErrRestored = errors.New("namespace: what this node has signed after the copy that its store was restored from is not known here")
	// ErrNoGroup is returned for a group that no namespace here has.
	ErrNoGroup = errors.New("namespace: no such group")
	// ErrNoOp is returned for an op that is not here.
	ErrNoOp = errors.New("namespace: no such op")
	// ErrForgotten is returned for an op of which only a skeleton was kept.
	ErrForgotten = errors.New("namespace: the payload of the op was forgotten")
)

// Options say how a [Store] works. The zero Options are the defaults.
type Options struct {
	Now             func() time.Time // when invitations expire; nil: time.Now
	Rand            io.Reader        // of keys and nonces; safe for concurrent use; nil: crypto/rand
	MaxPending      int              // the most ops of a namespace that wait for ancestors; 0: 65,536
	MaxPendingBytes int64            // the most bytes that they take; 0: 256 MiB. A single op may be larger.
	AllPending      int              // the most ops of all namespaces that wait; 0: 131,072
	AllPendingBytes int64            // the most bytes that they take; 0: 512 MiB. A single op may be larger.
	MaxForks        int              // the most ops of one signer with one nonce that are taken, until somebody else builds on more; 0: 2
	MaxSignerHeads  int              // the most heads of one signer, likewise; 0: 8
	ForgetPayloads  bool             // what can't be opened when it comes is kept as a skeleton
	Log             *slog.Logger     // what can't be returned to anyone; nil: nothing
	// Damaged is for a store made by [View]: it is told of a row that is damaged, or
	// that can't be read for want of another, and its namespace is what is left. It may
	// be called by many goroutines at once; its error ends the call that met the row.
	// Nil: damage does.
	Damaged func(col column.Column, key []byte, err error) error
}

func (o *Options) setDefaults() error {
	if o.MaxPending < 0 || o.MaxPendingBytes < 0 || o.AllPending < 0 || o.AllPendingBytes < 0 {
		return fmt.Errorf("namespace: open: a negative limit: %d ops and %d bytes of a namespace, %d and %d of all",
			o.MaxPending, o.MaxPendingBytes, o.AllPending, o.AllPendingBytes)
	}
	if o.MaxForks < 0 || o.MaxSignerHeads < 0 {
		return fmt.Errorf("namespace: open: a negative limit: %d ops of one signer with one nonce, %d heads of one signer", o.MaxForks, o.MaxSignerHeads)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.MaxForks == 0 {
		o.MaxForks = maxForks
	}
	if o.MaxSignerHeads == 0 {
		o.MaxSignerHeads = maxSignerHeads
	}
	if o.MaxPending == 0 {
		o.MaxPending = 65_536
	}
	if o.MaxPendingBytes == 0 {
		o.MaxPendingBytes = 256 << 20
	}
	if o.AllPending == 0 {
		o.AllPending = 131_072
	}
	if o.AllPendingBytes == 0 {
		o.AllPendingBytes = 512 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Store is the governance of all namespaces of one engine. An engine has one Store at a
// time, and nobody else writes its rows. Any number of goroutines may use it at once.
type Store struct {
	db      engine.Engine
	most    int // ops of a batch
	options Options

	verifier    group.Verifier
	sealedUnder atomic.Pointer[sealedUnder] // of the op opened last
	claiming    sync.Mutex                  // held by who writes what is of several namespaces: claims, and the rows that follow
	claimed     atomic.Bool                 // the claims of all namespaces are there
	viewing     bool                        // made by View
	waits       *shares
	changed     atomic.Pointer[func(codec.GroupID)]

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	calls  sync.WaitGroup

	mu     sync.Mutex
	queues map[codec.GroupID]*writeQueue
	closed bool
}

// Open returns the store of what is in db, which must outlive it. It reads what waits, and
// nothing else: namespaces are loaded when they are used. What waits in a namespace that
// this node does not follow, as older builds kept it, is deleted.
func Open(db engine.Engine, o Options) (*Store, error) {
	s, err := storeOf(db, o)
	if err == nil {
		if err := s.findWaiting(); err != nil { // what waits is no reason to do without the rest
			s.options.Log.Error("namespace: ops that wait could not be counted", "error", err)
		}
	}
	return s, err
}

func storeOf(db engine.Engine, o Options) (*Store, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	s := &Store{db: db, most: fullOps, options: o, queues: map[codec.GroupID]*writeQueue{}, waits: fair.New[*waiting](fair.Limits{Count: o.MaxPending, Bytes: o.MaxPendingBytes}, fair.Limits{Count: o.AllPending, Bytes: o.AllPendingBytes})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// View returns the store of what is in r, which is only read and must outlive it: a
// directory that was opened read-only, or a snapshot. What waits does, whether or not
// what it waited for is there. What writes returns engine.ErrReadOnly.
func View(r engine.Reader, o Options) (*Store, error) {
	s, err := storeOf(engine.ReadOnly(r), o)
	if err == nil {
		s.viewing = true
		s.claimed.Store(true) // none is written
	}
	return s, err
}

// OnChange has fn called with the namespace after each batch of ops that is written, where they wait
// for it, in place of what was called before; nil: nothing is.
func (s *Store) OnChange(fn func(ns codec.GroupID)) {
	if fn == nil {
		s.changed.Store(nil)
		return
	}
	s.changed.Store(&fn)
}

// Close ends all streams and waits for the calls under way. It does not close the
// engine. Later calls return [ErrClosed].
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.calls.Wait()
	return nil
}

// enter begins a call that Close waits for until s.calls is told that it is done.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// queue returns the queue of a namespace, for a call that Close waits for until leave.
func (s *Store) queue(ns codec.GroupID) (*writeQueue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	p := s.queues[ns]
	if p == nil {
		p = &writeQueue{id: ns, news: make(chan struct{})}
		p.requests = engine.NewQueue(maxServed, func(requests []*request) (int, error) { return s.serve(p, requests) })
		s.queues[ns] = p
	}
	p.users++
	s.calls.Add(1)
	return p, nil
}

// leave ends a call. A namespace that is not here, which anyone may ask for, takes no room
// once nobody asks for it any more.
func (s *Store) leave(p *writeQueue) {
	s.mu.Lock()
	if p.users--; p.users == 0 && p.strange() {
		delete(s.queues, p.id)
	}
	s.mu.Unlock()
	s.calls.Done()
}
