package namespace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace/fair"
)

// pending is the ops of a namespace that wait for ancestors. Their bytes stay on disk.
type pending struct {
	shares *shares // in which they count; nil: in none
	ops    map[codec.OpID]*waiting
	named  map[codec.OpID]*naming // parents that are not of the DAG
	said   map[said]int           // how many wait
	next   uint64                 // arrival of the next
	bytes  int64
	ready  []codec.OpID // those that wait no longer, but were not judged
}

// shares are all ops that wait in a store.
type shares = fair.Shares[*waiting]

// waiting is one of them.
type waiting struct {
	ns      codec.GroupID
	id      codec.OpID
	signer  codec.Identity
	nonce   uint64
	arrival uint64
	size    int
	since   time.Time // zero: not known
	parents []codec.OpID
	answer  *Answer               // of the op that it waited for last, whose cascade it belongs to
	place   *fair.Place[*waiting] // where it counts, if anywhere
}

// loadPending reads what waits.
func (c *loaded) loadPending(r engine.Reader) error {
	c.pending = pending{ops: map[codec.OpID]*waiting{}, named: map[codec.OpID]*naming{}, said: map[said]int{}}
	return each(r, scoped(nil, pendingScope, c.id), func(key, value []byte) error {
		n, err := numberOf(key)
		if err != nil {
			return c.beside(column.Generic, key, err)
		}
		op, _, err := parseWire(value)
		if err != nil {
			return c.beside(column.Generic, key, damaged(key, err.Error()))
		}
		c.pending.next = max(c.pending.next, n)
		if c.wait(op, len(value), time.Time{}) == nil {
			c.pending.ready = append(c.pending.ready, op.ID)
		}
		c.pending.ops[op.ID].arrival = n
		c.pending.next = n + 1
		return nil
	})
}

// share has what waits in the namespace count among what waits in all, and nothing else of
// it.
func (c *loaded) share(t *shares) {
	t.Reset(c.id)
	c.pending.shares = t
	byArrival := func(a, b *waiting) int { return cmp.Compare(a.arrival, b.arrival) }
	for _, w := range slices.SortedFunc(maps.Values(c.pending.ops), byArrival) {
		c.count(w)
	}
}

// count has an op count that waits: of whoever signed it, if an op of the namespace
// introduces that one, and else of all strangers to the namespace together, as anybody can
// have any number of keys.
func (c *loaded) count(w *waiting) {
	whose := fair.Owner{Space: w.ns, Sender: w.signer}
	if len(c.holders.known[w.signer]) > 0 {
		whose.Party = w.signer
	}
	w.place = c.pending.shares.Add(whose, int64(w.size), w)
}

// wait notes that op waits, since when, and returns for whom; nil: for somebody who builds on it.
func (c *loaded) wait(op *Op, size int, since time.Time) []codec.OpID {
	p := &c.pending
	w := &waiting{ns: c.id, id: op.ID, signer: op.Signer, nonce: op.Nonce, arrival: p.next, size: size, since: since, parents: op.Parents}
	p.ops[op.ID] = w
	p.next++
	p.bytes += int64(size)
	if p.shares != nil {
		c.count(w)
	}
	p.said[said{op.Signer, op.Nonce}]++
	missing := c.missing(op.Parents)
	c.builds(w, missing)
	return missing
}

// missing returns which of parents are not in the DAG.
func (c *loaded) missing(parents []codec.OpID) (missing []codec.OpID) {
	for _, id := range parents {
		if _, ok := c.ledger.Find(id); !ok {
			missing = append(missing, id)
		}
	}
	return missing
}

// forget has op wait no longer.
func (c *loaded) forget(id codec.OpID) {
	p := &c.pending
	w := p.ops[id]
	delete(p.ops, id)
	p.bytes -= int64(w.size)
	if p.shares != nil {
		p.shares.Remove(w.place)
	}
	if at := (said{w.signer, w.nonce}); p.said[at] > 1 {
		p.said[at]--
	} else {
		delete(p.said, at)
	}
	for _, parent := range w.parents {
		n := p.named[parent]
		if n == nil {
			continue
		}
		n.children = slices.DeleteFunc(n.children, func(o codec.OpID) bool { return o == id })
		if len(n.children) == 0 {
			delete(p.named, parent)
		}
	}
}

// findWaiting counts what waits on disk, and deletes what does in namespaces that are not
// followed. Damage is for whoever loads the namespace to report.
func (s *Store) findWaiting() error {
	var lost engine.Batch
	var at codec.GroupID // whose rows these are
	var isFollowed bool
	err := each(s.db, pendingScope[:], func(key, value []byte) (err error) {
		n, err := numberOf(key)
		if err != nil {
			return nil
		}
		if ns := codec.GroupID(key[len(pendingScope):]); ns != at {
			if isFollowed, err = followed(s.db, ns); err != nil {
				return err
			}
			at = ns
		}
		if !isFollowed {
			lost.Delete(column.Generic, slices.Clone(key))
			return s.dropUnfollowed(&lost, fullBytes)
		}
		if op, id, err := parseWire(value); err == nil {
			w := &waiting{ns: at, id: id, signer: op.Signer, arrival: n, size: len(value)}
			s.waits.Add(fair.Owner{Space: at, Sender: op.Signer}, int64(w.size), w) // whom the namespace knows is known when it is loaded
		}
		return nil
	})
	return errors.Join(err, s.dropUnfollowed(&lost, 0))
}

// dropUnfollowed writes the batch once it has so many bytes.
func (s *Store) dropUnfollowed(lost *engine.Batch, full int) error {
	if lost.Len() == 0 || lost.Size() < full {
		return nil
	}
	s.options.Log.Info("namespace: deleted ops that waited in namespaces that are not followed", "ops", lost.Len())
	err := s.db.Apply(lost)
	lost.Reset()
	return err
}

// makeRoom has ops make room where more wait in all namespaces than may. The caller has
// none locked.
func (s *Store) makeRoom() {
	for p := s.waits.CrowdedAnywhere(); p != nil; p = s.waits.CrowdedAnywhere() {
		ns := p.Value.ns
		r := &request{Task: func(b *batch) error {
			b.makeRoom()
			return nil
		}}
		err := s.submit(ns, r)
		if errors.Is(err, ErrClosed) {
			return
		}
		if err = cmp.Or(err, r.Err); err != nil { // it takes nothing more, and counts again when it can be loaded
			s.options.Log.Error("namespace: what waits makes no room", "namespace", ns.String(), "error", err)
			s.waits.Reset(ns)
		}
	}
}

// makeRoom has ops wait no longer, as far as they are of this namespace and have to make
// room, and returns them.
func (b *batch) makeRoom() (gone []codec.OpID) {
	for p := b.s.waits.Crowded(b.c.id); p != nil && p.Value.ns == b.c.id; p = b.s.waits.Crowded(b.c.id) {
		b.release(p.Value.id)
		gone = append(gone, p.Value.id)
	}
	return gone
}

// DropPending has ops of a namespace wait no longer, those of signer only unless it is
// zeros, and returns how many and how many bytes they were. Whoever offers one again has it
// wait again. It returns [ErrNoNamespace] for one that is not followed.
func (s *Store) DropPending(ns codec.GroupID, signer codec.Identity) (count int, bytes int64, err error) {
	r := &request{Task: func(b *batch) error {
		if !b.c.isFollowed() {
			return fmt.Errorf("%w: %s", ErrNoNamespace, ns)
		}
		for id, w := range b.c.pending.ops {
			if signer.IsZero() || w.signer == signer {
				b.release(id)
				count++
				bytes += int64(w.size)
			}
		}
		return nil
	}}
	if err := s.submit(ns, r); err != nil {
		return 0, 0, err
	}
	return count, bytes, r.Err
}
