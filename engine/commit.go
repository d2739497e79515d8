package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/stoadb/stoa/column"
)

// Sink is the storage that a Committer writes to. Only the committer writes. Updates
// read ranges where it is a Reader.
type Sink interface {
	Getter
	// Write makes the changes whose bytes are ops (Batch.Bytes), all or none,
	// and waits until they are on disk if sync is set. It does not keep ops.
	Write(ops []byte, sync bool) error
}

// Transactor is a Sink that is not the only one that writes to its storage. What a group of batches
// reads of it, and the Write that follows, if one does, are one transaction of the storage.
type Transactor interface {
	Sink
	// Begin is called before a group reads. What the group before has read is of no account then.
	Begin()
}

// tries is how often a group is made whose reads others have changed before it was written.
const tries = 100

// A group is bounded, so that no writer waits for an endless one, and so are the
// bytes after which no further batch joins a write.
const (
	maxGroupBytes = 4 << 20
	maxGroupSize  = 1024
)

// Committer puts the batches of many goroutines one after the other, and writes
// those that wait at the same time as one group with one sync. It is a [Queue] of
// writes.
type Committer struct {
	sink  Sink
	begin func() // nil: of no Transactor
	queue *Queue[write]

	// Owned by whoever leads.
	view Overlay // what those before in the group leave; of no batch, so that many goroutines may Get at once
	got  []byte  // the value of an expectation
	ops  []byte  // the changes of one write
}

// write is what the committer is asked for.
type write struct {
	batch  *Batch                     // what Apply was given
	update func(Getter, *Batch) error // or what Update was given
	made   Batch                      // what update has put
}

// writes lends requests.
var writes = sync.Pool{New: func() any { return new(Request[write]) }}

// NewCommitter returns a committer that writes to sink.
func NewCommitter(sink Sink) *Committer {
	c := &Committer{sink: sink}
	if t, ok := sink.(Transactor); ok {
		c.begin = t.Begin
	}
	c.queue = NewQueue(maxGroupSize, c.write)
	c.view.Reset(sink, nil)
	return c
}

// Apply makes the changes of b, in one write with those of others who wait; see
// [Writer].
func (c *Committer) Apply(b *Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	if b.Len() == 0 && !b.Guarded() {
		return c.queue.Stopped()
	}
	r := writes.Get().(*Request[write])
	r.Task.batch = b
	return c.commit(r)
}

// Update calls fn when its turn has come, and makes the changes that it asks for;
// see [Engine].
func (c *Committer) Update(fn func(Getter, *Batch) error) error {
	r := writes.Get().(*Request[write])
	r.Task.update = fn
	return c.commit(r)
}

// Stop makes every later request return err, and waits until those under way
// are answered.
func (c *Committer) Stop(err error) { c.queue.Stop(err) }

// Resume takes requests again after a Stop.
func (c *Committer) Resume() { c.queue.Resume() }

func (c *Committer) commit(r *Request[write]) error {
	err := c.queue.Do(context.Background(), r)
	if err == nil {
		err = r.Err
	}
	w := &r.Task
	w.batch, w.update, r.Err = nil, nil, nil
	if cap(w.made.ops)+cap(w.made.expects) > keepBytes {
		w.made = Batch{}
	}
	writes.Put(r)
	return err
}

// write makes the first requests of a group, again if others have changed what it has read. It returns
// how many it has taken, at least one, and the error of the sink. Where nobody knows whether there is an effect, or
// the sink has no patience left, each of them has that error: they are not to be served again. So
// have those that have failed by themselves, which may have read what others in the group were to change.
func (c *Committer) write(group []*Request[write]) (n int, err error) {
	for range tries {
		if n, err = c.writeOnce(group); !errors.Is(err, ErrMoved) {
			break
		}
		for _, r := range group[:n] {
			r.Err, r.Panic = nil, nil
		}
	}
	if !errors.Is(err, ErrUndetermined) && !errors.Is(err, ErrUnavailable) {
		return n, err
	}
	for _, r := range group[:n] {
		r.Err = err
	}
	return n, nil
}

// writeOnce prepares the first requests of a group in order and writes the changes of
// those that may commit.
func (c *Committer) writeOnce(group []*Request[write]) (n int, err error) {
	if c.begin != nil {
		c.begin()
	}
	group = fitting(group)
	if len(group) == 1 && group[0].Task.plain() {
		b := group[0].Task.batch
		return 1, c.sink.Write(b.Bytes(), b.mustSync())
	}
	defer c.forget()
	sync, made, last := false, 0, lastReader(group)
	c.ops = append(c.ops[:0], make([]byte, BatchHeader)...)
	for _, r := range group {
		if n > 0 && (len(c.ops) >= maxGroupBytes || c.full() && !r.Task.plain()) {
			break
		}
		n++
		b := c.prepare(r)
		if b == nil || b.Len() == 0 {
			continue
		}
		sync = sync || b.mustSync()
		made += b.Len()
		c.ops = append(c.ops, b.ops[BatchHeader:]...)
		if n <= last {
			c.note(b)
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

// fitting returns the first of a group that share a write if no update makes it
// longer.
func fitting(group []*Request[write]) []*Request[write] {
	n := 1
	for size := group[0].Task.size(); n < len(group) && size < maxGroupBytes; n++ {
		size += group[n].Task.size()
	}
	return group[:n]
}

// lastReader returns the index of the last of a group that reads what those
// before it change, or -1.
func lastReader(group []*Request[write]) int {
	for i := len(group) - 1; i >= 0; i-- {
		if !group[i].Task.plain() {
			return i
		}
	}
	return -1
}

// plain reports whether w reads nothing.
func (w *write) plain() bool { return w.update == nil && !w.batch.Guarded() }

func (w *write) size() int {
	if w.batch != nil {
		return w.batch.Size()
	}
	return 0
}

// prepare returns the batch of r, or nil and sets what keeps it from being
// committed. It may be called again.
func (c *Committer) prepare(r *Request[write]) *Batch {
	b := r.Task.batch
	if r.Task.update != nil {
		b = &r.Task.made
		b.Reset()
		c.call(r)
		if r.Err == nil && r.Panic == nil {
			r.Err = b.Check()
		}
	}
	if r.Err == nil && r.Panic == nil {
		r.Err = c.check(b)
	}
	if r.Err != nil || r.Panic != nil {
		return nil
	}
	return b
}

// call runs the update. A panic in it belongs to the goroutine that asked, not
// to the one that leads.
func (c *Committer) call(r *Request[write]) {
	defer func() {
		if p := recover(); p != nil {
			r.Panic = p
		}
	}()
	r.Err = r.Task.update(&c.view, &r.Task.made)
}

// check returns a *Conflict if an expectation of b does not hold.
func (c *Committer) check(b *Batch) error {
	for e, err := range b.Expected {
		if err != nil {
			return err
		}
		c.got, err = c.view.Get(c.got[:0], e.Column, e.Key)
		absent := errors.Is(err, ErrNotFound)
		if err != nil && !absent {
			return err
		}
		if absent != e.Absent || string(c.got) != string(e.Want) {
			return &Conflict{Column: e.Column, Key: bytes.Clone(e.Key), Absent: e.Absent}
		}
	}
	return nil
}

// What the view of a group may hold before it is full, so that neither its memory nor
// the time that deleted ranges cost grows with the batches of a group.
const (
	maxViewRows   = 1 << 14
	maxViewRanges = 64
)

// full reports whether changes may be missing from the view, so that it is not to be
// read any more before it is empty again.
func (c *Committer) full() bool {
	return len(c.view.changes.rows) >= maxViewRows || len(c.view.changes.ranges) >= maxViewRanges
}

// note puts the changes of b, which is well formed, into the view, until that is full.
func (c *Committer) note(b *Batch) {
	for op := range b.Ops {
		if c.full() {
			break
		}
		c.view.changes.take(op)
	}
	c.view.changes.indexAll()
}

// forget empties the view.
func (c *Committer) forget() {
	c.view.changes.reset()
	if cap(c.got) > keepBytes {
		c.got = nil
	}
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
