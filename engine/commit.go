package engine

import (
	"encoding/binary"
	"errors"
	"slices"
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

// A group is bounded, so that no writer waits for an endless one, and so are the
// bytes after which no further batch joins a write.
const (
	maxGroupBytes = 4 << 20
	maxGroupSize  = 1024
)

// errBroken is what a request gets whose group nobody brought to its end.
var errBroken = errors.New("engine: the goroutine that wrote this batch and others with it panicked or ended (runtime.Goexit); it may or may not have been written")

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
	done  int // how many of the group are settled
	view  overlay
	ops   []byte // the changes of one write
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

// Apply makes the changes of b, in one write with those of others who wait; see
// [Writer].
func (c *Committer) Apply(b *Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	if b.Len() == 0 && !b.Guarded() {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.closed
	}
	r := requests.Get().(*request)
	r.batch = b
	return c.commit(r)
}

// Update calls fn when its turn has come, and makes the changes that it asks for;
// see [Engine].
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
	c.lead()
	return r.result()
}

// lead commits the group and lets the next one lead, whatever becomes of this
// goroutine.
func (c *Committer) lead() {
	defer c.pass()
	c.run()
}

// pass answers the group and wakes whoever has waited longest.
func (c *Committer) pass() {
	for _, r := range c.group[c.done:] {
		r.fail(errBroken)
	}
	for _, other := range c.group[1:] {
		other.woken <- false
	}
	clear(c.group)
	c.view.reset()

	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.leading = false
		c.idle.Broadcast()
		return
	}
	next := c.queue[0]
	c.queue = slices.Delete(c.queue, 0, 1)
	next.woken <- true
}

// take moves r and those who wait into the group.
func (c *Committer) take(r *request) {
	c.done = 0
	c.group = append(c.group[:0], r)
	size, n := r.size(), 0
	for n < len(c.queue) && len(c.group) < maxGroupSize && size < maxGroupBytes {
		size += c.queue[n].size()
		c.group = append(c.group, c.queue[n])
		n++
	}
	c.queue = slices.Delete(c.queue, 0, n)
}

// run commits the group: together, and what fails together one by one, so that
// only the guilty fail.
func (c *Committer) run() {
	for singly := 0; c.done < len(c.group); {
		rest := c.group[c.done:]
		if singly > 0 {
			rest = rest[:1]
			singly--
		}
		n, err := c.write(rest)
		if err != nil && n > 1 {
			singly = n
			continue
		}
		if err != nil {
			rest[0].fail(err)
		}
		c.done += n
	}
}

// write prepares requests of a group in order and writes the changes of those
// that may commit. It returns how many it has taken, at least one, and the error
// of the sink.
func (c *Committer) write(group []*request) (n int, err error) {
	if len(group) == 1 && group[0].plain() {
		b := group[0].batch
		return 1, c.sink.Write(b.Bytes(), b.mustSync())
	}
	sync, made, last := false, 0, lastReader(group)
	c.view.reset()
	c.ops = append(c.ops[:0], make([]byte, BatchHeader)...)
	for _, r := range group {
		if n > 0 && (len(c.ops) >= maxGroupBytes || c.view.full() && !r.plain()) {
			break
		}
		n++
		b := r.prepare(&c.view)
		if b == nil || b.Len() == 0 {
			continue
		}
		sync = sync || b.mustSync()
		made += b.Len()
		c.ops = append(c.ops, b.ops[BatchHeader:]...)
		if n <= last {
			c.view.apply(b)
		}
	}
	if made == 0 {
		return n, nil
	}
	binary.LittleEndian.PutUint32(c.ops[8:], uint32(made))
	err = c.sink.Write(c.ops, sync)
	if cap(c.ops) > 2*maxGroupBytes {
		c.ops = nil
	}
	return n, err
}

// lastReader returns the index of the last of a group that reads what those
// before it change, or -1.
func lastReader(group []*request) int {
	for i := len(group) - 1; i >= 0; i-- {
		if !group[i].plain() {
			return i
		}
	}
	return -1
}

// plain reports whether r reads nothing.
func (r *request) plain() bool { return r.update == nil && !r.batch.Guarded() }

func (r *request) size() int {
	if r.batch != nil {
		return r.batch.Size()
	}
	return 0
}

// prepare returns the batch of r, or nil and sets the error that keeps it from
// being committed. It may be called again.
func (r *request) prepare(view *overlay) *Batch {
	r.err, r.panics = nil, nil
	b := r.batch
	if r.update != nil {
		b = &r.made
		b.Reset()
		if r.call(view); r.err == nil && r.panics == nil {
			r.err = b.Check()
		}
	}
	if r.err == nil && r.panics == nil {
		r.err = view.check(b)
	}
	if r.err != nil || r.panics != nil {
		return nil
	}
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
	if cap(r.made.ops)+cap(r.made.expects) > keepBytes {
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
