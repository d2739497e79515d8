package hlc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// MaxDrift is how far a stamp may be ahead of this node's physical clock: of a
// peer's stamp that is accepted, and of one that is made here.
const MaxDrift = 5 * time.Second

const maxDrift = 5 * second

// ErrEarly marks a remote stamp that is more than [MaxDrift] ahead of the
// physical clock. The error is an [*Early].
var ErrEarly = errors.New("dag: early")

// ErrAhead marks a stamp that would be more than [MaxDrift] ahead of the
// physical clock. The error is a [*Ahead].
var ErrAhead = errors.New("dag: clock ahead")

// Early says when a remote stamp can be accepted.
type Early struct {
	Stamp      codec.HybridTimestamp
	RetryAfter time.Duration // by the physical clock; at least 1 ns
}

// Error names the stamp and the time to wait.
func (e *Early) Error() string {
	text := fmt.Sprintf("dag: early: stamp %s of node %s is more than %s ahead of this node's clock: offer it again in %s",
		NTP64(e.Stamp.Time).Time().Format(time.RFC3339Nano), e.Stamp.ID, MaxDrift, e.RetryAfter)
	if e.RetryAfter > time.Minute {
		text += "; the clock of one of the two nodes is wrong, or was when the delta was made"
	}
	return text
}

// Is reports whether target is [ErrEarly].
func (e *Early) Is(target error) bool { return target == ErrEarly }

// Ahead says how far the hybrid clock has run away from the physical one:
// peers pushed it, or the physical clock went back.
type Ahead struct {
	Physical   time.Time     // what the physical clock says
	Next       time.Time     // what the next stamp would say
	RetryAfter time.Duration // until a stamp can be made; at least 1 ns
}

// Error names both times and what to do.
func (e *Ahead) Error() string {
	return fmt.Sprintf("dag: clock ahead: the next stamp would be %s, more than %s after the physical clock, %s: "+
		"set the clock right, confirm that it is, or try again in %s", e.Next.Format(time.RFC3339Nano), MaxDrift,
		e.Physical.Format(time.RFC3339Nano), e.RetryAfter)
}

// Is reports whether target is [ErrAhead].
func (e *Ahead) Is(target error) bool { return target == ErrAhead }

// Options say whose clock it is.
type Options struct {
	Node codec.NodeID     // this node; not zero
	Now  func() time.Time // the physical clock; nil: time.Now. It may stand still and jump.
	// Uptime is what the physical clock is held against, so that its steps are
	// noticed; nil: [SystemUptime] where Now is nil too, else nothing.
	Uptime *Uptime
}

func (o *Options) setDefaults() {
	if o.Now != nil {
		return
	}
	o.Now = time.Now
	if o.Uptime == nil {
		o.Uptime = SystemUptime()
	}
}

// Clock is the hybrid logical clock of a node. Its stamps increase strictly,
// whatever the physical clock does and however often the process ends, and are
// after every remote stamp that it has observed. Any number of goroutines may
// use it at once.
//
// A reservation in the store, a time that all stamps so far are below, makes it
// so: it is written, synced, ahead of the first stamp that needs it, up to a
// second after the physical clock. No batch that a stamp goes into has to carry
// it; losing such a batch leaves a gap in time and nothing else. A store has one
// clock at a time.
type Clock struct {
	node     codec.NodeID
	physical *physical
	store    engine.Writer

	mu       sync.Mutex
	last     NTP64 // no stamp after this was made or observed
	reserved NTP64 // stored: all stamps made or observed are below
	beyond   NTP64 // how far the next reservation goes at least, from the stamp that needs it
}

// leastReservation is how far the first reservation of a clock goes at least from
// the stamp that needs it: 65,536 stamps, or 2^-16 s.
const leastReservation = counterMask + 1

// reservationKey is the key of the reservation, in column Generic.
var reservationKey = RowKey()

// RowKey returns the key of the row of the clock, in column Generic.
func RowKey() []byte {
	scope := keys.MustScope("dag-clock")
	return scope[:]
}

// Open returns the clock that continues the one whose reservation r has. It
// returns engine.ErrCorrupt if that row is damaged, or the error of r. Stamps
// are made only while w takes writes.
func Open(r engine.Getter, w engine.Writer, o Options) (*Clock, error) {
	if o.Node.IsZero() {
		return nil, errors.New("dag: clock: no node id")
	}
	o.setDefaults()
	p, err := openPhysical(r, o.Now, o.Uptime)
	if err != nil {
		return nil, err
	}
	c := newClock(w, o.Node, p)
	row, err := r.Get(nil, column.Generic, reservationKey)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("dag: clock: %w", err)
	case len(row) != 8:
		return nil, fmt.Errorf("dag: clock: %w: %s %x: a reservation of %d bytes instead of 8",
			engine.ErrCorrupt, column.Generic, reservationKey, len(row))
	}
	c.reserved = NTP64(binary.LittleEndian.Uint64(row))
	if c.reserved > 0 {
		c.last = c.reserved - 1
	}
	return c, nil
}

// NewClock returns a clock that knows of no stamp before its own, and holds the
// physical clock against nothing: for a store that is only read, and whose rows of the
// clock are damaged. Stamps are made only while w takes writes. It panics if the node
// is zero.
func New(w engine.Writer, o Options) *Clock {
	if o.Node.IsZero() {
		panic("dag: clock: no node id")
	}
	o.setDefaults()
	return newClock(w, o.Node, &physical{now: o.Now})
}

func newClock(w engine.Writer, node codec.NodeID, p *physical) *Clock {
	return &Clock{node: node, physical: p, store: w, beyond: leastReservation}
}

// Node returns the id that stamps carry.
func (c *Clock) Node() codec.NodeID { return c.node }

// Now returns the time of the physical clock, by which it is judged whether a stamp
// is early or ahead. While that has jumped, it is the time that it would say if it had not.
func (c *Clock) Now() time.Time {
	t, _ := c.physical.read()
	return t
}

// Stamp returns a stamp after all those made and observed. It returns a
// [*Jumped], a [*Ahead], or the error of the store when the reservation
// can't be written; then no stamp was made. About once a second it waits for a synced
// write, so it must not be called from within engine.Update.
func (c *Clock) Stamp() (codec.HybridTimestamp, error) { return c.StampAfter(0) }

// StampAfter returns a stamp after all those made and observed that is also after t,
// such as the latest of the parents of a delta. Where t is itself more than [MaxDrift]
// ahead of the physical clock, as it is in a context that was written to while this
// clock was wrong, the stamp is the next after t, and no other stamp has to come after
// it. Its errors, and what it waits for, are those of [Clock.Stamp].
func (c *Clock) StampAfter(t NTP64) (codec.HybridTimestamp, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, jumped := c.physical.read()
	if jumped != nil {
		return codec.HybridTimestamp{}, jumped
	}
	physical := ToNTP64(now)
	if next := t.add(1); t > physical.add(maxDrift) && next != ^NTP64(0) {
		return codec.HybridTimestamp{Time: uint64(next), ID: c.node}, nil
	}
	next := max(physical&^counterMask, max(c.last, t).add(1))
	if next > physical.add(maxDrift) || next == ^NTP64(0) {
		return codec.HybridTimestamp{}, &Ahead{Physical: physical.Time(), Next: next.Time(),
			RetryAfter: max(1, next.Sub(physical.add(maxDrift)))}
	}
	if err := c.reserve(next, physical); err != nil {
		return codec.HybridTimestamp{}, err
	}
	c.last = next
	return codec.HybridTimestamp{Time: uint64(next), ID: c.node}, nil
}

// Check returns an [*Early] if the stamp is more than [MaxDrift] ahead of the
// physical clock, else nil. It changes nothing.
func (c *Clock) Check(remote codec.HybridTimestamp) error {
	return early(remote, ToNTP64(c.Now()))
}

func early(remote codec.HybridTimestamp, physical NTP64) error {
	limit := physical.add(maxDrift)
	if t := NTP64(remote.Time); t > limit || t == ^NTP64(0) {
		return &Early{Stamp: remote, RetryAfter: max(1, t.Sub(limit))}
	}
	return nil
}

// Observe makes all later stamps come after remote, also after a restart. It is
// called when a remote delta has been verified and before the batch that stores
// it, so that no stored delta is ever after the clock. It returns what Check
// does, or the error of the store when the reservation can't be written; then
// nothing has changed. Like Stamp it may wait for a synced write.
func (c *Clock) Observe(remote codec.HybridTimestamp) error {
	physical := ToNTP64(c.Now())
	if err := early(remote, physical); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := NTP64(remote.Time)
	if t <= c.last {
		return nil
	}
	if err := c.reserve(t, physical); err != nil {
		return err
	}
	c.last = t
	return nil
}

// reserve makes sure that the stored reservation is after t: that it ends a second
// after the physical clock or, if that is not enough, beyond t.
//
// A clock that is opened begins at the end of the reservation before it, ahead of
// the physical clock by what was left of it. Its own ends there too, a step
// further, and not a second: else runs that follow each other quickly would get a
// second further ahead each, until none is given. Only a clock that goes on in need
// of more than the physical one gives, because that stands still or because peers
// are ahead, takes steps that double, up to a second.
func (c *Clock) reserve(t, physical NTP64) error {
	if t < c.reserved {
		return nil
	}
	until, beyond := physical.add(second), c.beyond
	if until <= t.add(beyond) {
		until, beyond = t.add(beyond), min(2*beyond, second)
	}
	if err := c.write(until); err != nil {
		return err
	}
	c.reserved, c.beyond = until, beyond
	return nil
}

// write stores a reservation, and beside it the anchor of the physical clock.
func (c *Clock) write(until NTP64) error {
	var b engine.Batch
	b.Put(column.Generic, reservationKey, binary.LittleEndian.AppendUint64(nil, uint64(until)))
	c.physical.anchor(&b)
	if err := c.store.Apply(&b); err != nil {
		return fmt.Errorf("dag: clock: reserve up to a second: %w", err)
	}
	return nil
}
