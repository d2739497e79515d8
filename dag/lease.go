package dag

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
)

// ErrSnapshotGone is returned for a place in a snapshot that is no longer held:
// nobody asked for it for too long, or the store was closed. Begin anew.
var ErrSnapshotGone = errors.New("dag: the snapshot is no longer held: begin with a new one")

// ErrSnapshotsBusy is returned while as many snapshots are being sent as may be.
var ErrSnapshotsBusy = errors.New("dag: too many snapshots are being sent")

// lease is a state of the store that is held for who receives a snapshot of it, so
// that it can go on after its connection was lost.
type lease struct {
	number uint64
	past   history
	base   orderRow            // the zero id: none
	seeded stamp               // the base that the context itself was seeded with; the zero id: none
	first  uint64              // the seq of the base; 0: none
	last   uint64              // of the delta that was applied last
	later  map[codec.Hash]bool // keys that deltas after the base have written; nil: not looked for yet, or too many
	many   bool                // too many

	mu    sync.Mutex
	state engine.Snapshot // nil: given back
	idle  *time.Timer
}

// leases are those of a store. A lease that nobody has read from for a while is
// given back, and so are all with the store.
type leases struct {
	mu     sync.Mutex
	epoch  uint64 // tells the leases of this process from those of the one before
	last   uint64
	held   map[uint64]*lease
	closed bool
}

// open holds the present state of the store for a snapshot of a context. fn looks
// around in it. It returns ErrSnapshotsBusy if most leases are held.
func (l *leases) open(db engine.Engine, id codec.ContextID, most int, idle time.Duration, fn func(*lease) error) (*lease, error) {
	x, err := l.reserve(id, most, idle)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.state, err = db.Snapshot()
	if err == nil {
		x.past.r = x.state
		err = fn(x)
	}
	if err == nil {
		x.idle = time.AfterFunc(idle, func() { l.end(x) })
	}
	x.mu.Unlock()
	if err != nil {
		l.end(x)
		return nil, err
	}
	return x, nil
}

// reserve takes a place, so that looking around in a large context holds up nobody
// else.
func (l *leases) reserve(id codec.ContextID, most int, idle time.Duration) (*lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if len(l.held) >= most {
		return nil, fmt.Errorf("%w: %d; a place is free within %s after one of them stops", ErrSnapshotsBusy, most, idle)
	}
	l.last++
	x := &lease{number: l.last, past: history{context: id}}
	if l.held == nil {
		l.held = make(map[uint64]*lease)
	}
	l.held[x.number] = x
	return x, nil
}

// find returns a lease that is held, or ErrSnapshotGone.
func (l *leases) find(epoch, number uint64) (*lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.held[number]
	switch {
	case l.closed:
		return nil, ErrClosed
	case x == nil || epoch != l.epoch:
		return nil, ErrSnapshotGone
	}
	return x, nil
}

// end gives a lease back, if it is held.
func (l *leases) end(x *lease) {
	l.mu.Lock()
	delete(l.held, x.number)
	l.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.idle != nil {
		x.idle.Stop()
	}
	if x.state != nil {
		_ = x.state.Close()
		x.state = nil
	}
}

// close gives all leases back, for ever.
func (l *leases) close() {
	l.mu.Lock()
	l.closed = true
	var held []*lease
	for _, x := range l.held {
		held = append(held, x)
	}
	l.mu.Unlock()
	for _, x := range held {
		l.end(x)
	}
}

// read calls fn while the state is held for certain, and holds it for another idle
// from then on.
func (x *lease) read(idle time.Duration, fn func() error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == nil {
		return ErrSnapshotGone
	}
	err := fn()
	x.idle.Reset(idle)
	return err
}
