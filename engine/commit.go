package engine

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/stoadb/stoa/column"
)

// Sink is the storage that a Committer writes to. Only the committer writes.
type Sink interface {
	Getter
	// Write makes the changes whose bytes are ops (Batch.Bytes), all or none,
	// and waits until they are on disk if sync is set. It does not keep ops.
	Write(ops []byte, sync bool) error
}

// A group is bounded, so that no writer waits for an endless one.
const (
	maxGroupBytes = 4 << 20
	maxGroupSize  = 1024
)

// Committer puts the batches of many goroutines one after the other, writes
// those that wait at the same time as one group with one sync, and answers
// each. A writer that finds nobody committing commits on its own goroutine, and
// takes along whoever has come meanwhile.
type Committer struct {
	sink Sink

	mu      sync.Mutex
	leading bool       // somebody commits
	queue   []*request // who waits
	closed  error      // what new requests are answered
	idle    *sync.Cond // nobody commits

	// Owned by whoever leads.
	group []*request
	view  overlay
	ops   []byte // the changes of the group
}

// request is one batch on its way through the committer.
type request struct {
	batch  *Batch                     // what Apply was given
	update func(Getter, *Batch) error // or what Update was given
	made   Batch                      // what update has put
	err    error
	panics any
	woken  chan bool // true: lead; false: answered
}

var requests = sync.Pool{New: func() any { return &request{woken: make(chan bool, 1)} }}

// NewCommitter returns a committer that writes to sink.
func NewCommitter(sink Sink) *Committer {
	c := &Committer{sink: sink}
	c.idle = sync.NewCond(&c.mu)
	c.view.base = sink
	return c
}

// Apply is the Apply of an engine.
func (c *Committer) Apply(b *Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	if b.Len() == 0 && !b.Guarded() {
		return nil
	}
	r := requests.Get().(*request)
	r.batch = b
	return c.commit(r)
}

// Update is the Update of an engine.
func (c *Committer) Update(fn func(Getter, *Batch) error) error {
	r := requests.Get().(*request)
	r.update = fn
	return c.commit(r)
}

// Stop makes every later request return err, and waits until those under way
// are answered.
func (c *Committer) Stop(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = err
	for c.leading {
		c.idle.Wait()
	}
}

// Resume takes requests again after a Stop.
func (c *Committer) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = nil
}

func (c *Committer) commit(r *request) error {
	c.mu.Lock()
	if c.closed != nil {
		err := c.closed
		c.mu.Unlock()
		r.release()
		return err
	}
	if c.leading {
		c.queue = append(c.queue, r)
		c.mu.Unlock()
		if !<-r.woken {
			return r.result()
		}
		c.mu.Lock()
	}
	c.leading = true
	c.take(r)
	c.mu.Unlock()

	c.run()
	for _, other := range c.group[1:] {
		other.woken <- false
	}
	clear(c.group)

	c.mu.Lock()
	if len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = append(c.queue[:0], c.queue[1:]...)
		next.woken <- true
	} else {
		c.leading = false
		c.idle.Broadcast()
	}
	c.mu.Unlock()
	return r.result()
}

// take moves r and those who wait into the group.
func (c *Committer) take(r *request) {
	c.group = append(c.group[:0], r)
	size, n := r.size(), 0
	for n < len(c.queue) && len(c.group) < maxGroupSize && size < maxGroupBytes {
		size += c.queue[n].size()
		c.group = append(c.group, c.queue[n])
		n++
	}
	rest := copy(c.queue, c.queue[n:])
	clear(c.queue[rest:])
	c.queue = c.queue[:rest]
}

// run commits the group: together, and if that fails one by one, so that only
// the guilty fail.
func (c *Committer) run() {
	err := c.write(c.group)
	if err == nil {
		return
	}
	if len(c.group) == 1 {
		c.group[0].fail(err)
		return
	}
	for i := range c.group {
		if err := c.write(c.group[i : i+1]); err != nil {
			c.group[i].fail(err)
		}
	}
}

// write prepares every request of a group and writes the changes of those that
// may commit. Its error is that of the sink.
func (c *Committer) write(group []*request) error {
	if len(group) == 1 && group[0].plain() {
		b := group[0].batch
		return c.sink.Write(b.Bytes(), b.mustSync())
	}
	sync, made := false, 0
	c.view.reset()
	c.ops = append(c.ops[:0], make([]byte, BatchHeader)...)
	for i, r := range group {
		b := r.prepare(&c.view)
		if r.err != nil || r.panics != nil {
			continue
		}
		sync = sync || b.mustSync()
		made += b.Len()
		if b.Len() > 0 {
			c.ops = append(c.ops, b.ops[BatchHeader:]...)
		}
		if needsView(group[i+1:]) {
			c.view.apply(b)
		}
	}
	if made == 0 {
		return nil
	}
	binary.LittleEndian.PutUint32(c.ops[8:], uint32(made))
	err := c.sink.Write(c.ops, sync)
	if cap(c.ops) > 2*maxGroupBytes {
		c.ops = nil
	}
	return err
}

// needsView reports whether any of a group reads what those before it change.
func needsView(group []*request) bool {
	for _, r := range group {
		if !r.plain() {
			return true
		}
	}
	return false
}

// plain reports whether r reads nothing.
func (r *request) plain() bool { return r.update == nil && !r.batch.Guarded() }

func (r *request) size() int {
	if r.batch != nil {
		return r.batch.Size()
	}
	return 0
}

// prepare returns the batch of r, or sets the error that keeps it from being
// committed. It may be called again.
func (r *request) prepare(view *overlay) *Batch {
	r.err, r.panics = nil, nil
	b := r.batch
	if r.update != nil {
		b = &r.made
		b.Reset()
		if r.call(view); r.err == nil && r.panics == nil {
			r.err = b.Check()
		}
		if r.err != nil || r.panics != nil {
			return nil
		}
	}
	r.err = view.check(b)
	return b
}

// call runs the update. A panic in it belongs to the goroutine that asked, not
// to the one that leads.
func (r *request) call(view *overlay) {
	defer func() {
		if p := recover(); p != nil {
			r.panics = p
		}
	}()
	r.err = r.update(view, &r.made)
}

// fail sets err unless the request has an error of its own.
func (r *request) fail(err error) {
	if r.err == nil && r.panics == nil {
		r.err = err
	}
}

func (r *request) result() error {
	err, panics := r.err, r.panics
	r.release()
	if panics != nil {
		panic(panics)
	}
	return err
}

func (r *request) release() {
	r.batch, r.update, r.err, r.panics = nil, nil, nil, nil
	if cap(r.made.ops) > keepBytes {
		r.made = Batch{}
	}
	requests.Put(r)
}

// mustSync reports whether b has to be on disk before it is acknowledged.
func (b *Batch) mustSync() bool {
	if b.Durability == Synced {
		return true
	}
	for op := range b.Ops {
		if op.Column == column.Group || op.Column == column.Identity {
			return true
		}
	}
	return false
}

// check returns a *Conflict if an expectation of b does not hold in v.
func (v *overlay) check(b *Batch) error {
	for e, err := range b.Expected {
		if err != nil {
			return err
		}
		v.got, err = v.Get(v.got[:0], e.Column, e.Key)
		absent := errors.Is(err, ErrNotFound)
		if err != nil && !absent {
			return err
		}
		if absent != e.Absent || string(v.got) != string(e.Want) {
			return &Conflict{Column: e.Column, Key: append([]byte(nil), e.Key...), Absent: e.Absent}
		}
	}
	return nil
}
