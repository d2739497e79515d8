package merkle

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// ErrChanges is returned by [Trie.Update] for changes that are not sorted by
// key, or that have a key twice.
var ErrChanges = errors.New("dag: changes out of order")

// Change sets or removes a key of a trie.
type Change struct {
	Key    codec.Hash // [HashKey] of the app_key
	Value  codec.Hash // [HashValue] of the value; not looked at if Delete is set
	Delete bool
	Mark   uint64 // what the trie is to keep beside the leaf, which no hash knows
	Before uint64 // set by Update of a trie that knows marks: the mark that the key had; 0: none
}

// SortChanges sorts changes by key, as [Trie.Update] wants them.
func SortChanges(c []Change) {
	slices.SortFunc(c, func(a, b Change) int { return bytes.Compare(a.Key[:], b.Key[:]) })
}

// Update makes all changes, which are sorted by key and have none twice, else it
// returns [ErrChanges] and changes nothing. Removing a key that is not there, and
// setting a key to what it is, change nothing but its mark. Any other error is
// engine.ErrCorrupt or the store's, and leaves t unusable. Update sets Before of each change, and keeps nothing
// of changes.
func (t *Trie) Update(changes []Change) error {
	for i := 1; i < len(changes); i++ {
		if bytes.Compare(changes[i-1].Key[:], changes[i].Key[:]) >= 0 {
			return fmt.Errorf("%w: key %s after %s", ErrChanges, changes[i].Key, changes[i-1].Key)
		}
	}
	top, err := t.rootKid()
	if err != nil || len(changes) == 0 {
		return err
	}
	if top, err = t.apply(Prefix{}, top, changes); err != nil {
		return err
	}
	t.top, t.root = top, top.hash
	if top.count == 0 {
		t.root = emptyRoot
	}
	return nil
}

// apply makes changes, all below p, and returns what the page at p is known by
// afterwards. It was known as k.
func (t *Trie) apply(p Prefix, k kid, changes []Change) (kid, error) {
	if k.count == 0 {
		leaves, marks, _ := t.merge(nil, nil, changes)
		return t.build(p, k, leaves, marks, nil), nil
	}
	// A bucket is about to be replaced.
	pg, err := t.load(&p, k, int(k.count) > bucketSize(p.Len()) || t.past != nil)
	if err != nil {
		return kid{}, err
	}
	if pg.kids == nil {
		leaves, marks, differ := t.merge(pg.leaves, pg.marks, changes)
		if !differ {
			return k, nil
		}
		return t.build(p, k, leaves, marks, pg), nil
	}
	next, differ := newInner(pg.kids), false
	for depth := p.Len(); len(changes) > 0; {
		i, n := nibble(&changes[0].Key, depth), 1
		for n < len(changes) && nibble(&changes[n].Key, depth) == i {
			n++
		}
		now, err := t.apply(p.child(i), pg.kids[i], changes[:n])
		if err != nil {
			return kid{}, err
		}
		differ = differ || now != pg.kids[i]
		next.kids[i] = now
		changes = changes[n:]
	}
	if !differ {
		return k, nil
	}
	if next.seal(&p); int(next.count) > bucketSize(p.Len()) {
		return t.put(p, k, next), nil
	}
	leaves, marks := make([]Leaf, 0, next.count), make([]uint64, 0, next.count)
	if leaves, marks, err = t.collect(&p, next, leaves, marks); err != nil {
		return kid{}, err
	}
	return t.build(p, k, leaves, marks, nil), nil
}

// merge returns the sorted leaves and their marks with changes made, in memory that is good until the
// next call, and whether that is anything new.
func (t *Trie) merge(leaves []Leaf, marks []uint64, changes []Change) (merged []Leaf, mergedMarks []uint64, differ bool) {
	c := t.changing()
	c.merged, c.marks, differ = mergeLeaves(c.merged[:0], c.marks[:0], leaves, marks, changes)
	return c.merged, c.marks, differ
}

// mergeLeaves appends the sorted leaves and their marks, with changes made, to merged and mergedMarks, and returns
// whether that is anything new.
func mergeLeaves(merged []Leaf, mergedMarks []uint64, leaves []Leaf, marks []uint64, changes []Change) (_ []Leaf, _ []uint64, differ bool) {
	for i := range changes {
		c := &changes[i]
		n := 0
		for n < len(leaves) && bytes.Compare(leaves[n].Key[:], c.Key[:]) < 0 {
			n++
		}
		merged, leaves = append(merged, leaves[:n]...), leaves[n:]
		mergedMarks, marks = append(mergedMarks, marks[:n]...), marks[n:]
		old := len(leaves) > 0 && leaves[0].Key == c.Key
		if c.Before = 0; old {
			c.Before = marks[0]
		}
		if !c.Delete {
			merged, mergedMarks = append(merged, Leaf{Key: c.Key, Value: c.Value}), append(mergedMarks, c.Mark)
			differ = differ || !old || leaves[0].Value != c.Value || marks[0] != c.Mark
		} else {
			differ = differ || old
		}
		if old {
			leaves, marks = leaves[1:], marks[1:]
		}
	}
	return append(merged, leaves...), append(mergedMarks, marks...), differ
}

// build puts the pages of leaves, of which it keeps none, at p and below, where the
// page was known as k; old is that page if it was a bucket, or nil. It returns what
// the page is known by.
func (t *Trie) build(p Prefix, k kid, leaves []Leaf, marks []uint64, old *page) kid {
	if len(leaves) == 0 {
		t.remove(p, k)
		return kid{}
	}
	depth := p.Len()
	if len(leaves) <= bucketSize(depth) {
		return t.put(p, k, newBucket(leaves, marks, old, depth))
	}
	pg := newInner(nil)
	for len(leaves) > 0 {
		n := run(leaves, depth)
		i := nibble(&leaves[0].Key, depth)
		pg.kids[i] = t.build(p.child(i), kid{}, leaves[:n], marks[:n], old)
		leaves, marks = leaves[n:], marks[n:]
	}
	pg.seal(&p)
	return t.put(p, k, pg)
}

// collect appends all leaves below the inner page pg at p to leaves, and their marks to marks, and removes
// the pages that they are in.
func (t *Trie) collect(p *Prefix, pg *page, leaves []Leaf, marks []uint64) ([]Leaf, []uint64, error) {
	for i := range pg.kids {
		k := pg.kids[i]
		if k.count == 0 {
			continue
		}
		at := p.child(i)
		below, err := t.load(&at, k, t.past != nil)
		if err == nil && below.kids != nil {
			leaves, marks, err = t.collect(&at, below, leaves, marks)
		} else if err == nil {
			leaves, marks = append(leaves, below.leaves...), append(marks, below.marks...)
		}
		if err != nil {
			return nil, nil, err
		}
		t.remove(at, k)
	}
	return leaves, marks, nil
}

// put makes pg the page at p, which was known as k.
func (t *Trie) put(p Prefix, k kid, pg *page) kid {
	pg.owner = t.owner
	t.set(pageChange{at: p, page: pg, was: k})
	return pg.kid()
}

// remove takes away the page at p, which was known as k.
func (t *Trie) remove(p Prefix, k kid) {
	if k.count > 0 {
		t.set(pageChange{at: p, was: k})
	}
}
