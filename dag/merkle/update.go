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
}

// SortChanges sorts changes by key, as [Trie.Update] wants them.
func SortChanges(c []Change) {
	slices.SortFunc(c, func(a, b Change) int { return bytes.Compare(a.Key[:], b.Key[:]) })
}

// Update makes all changes, which are sorted by key and have none twice, else it
// returns [ErrChanges] and changes nothing. Removing a key that is not there, and
// setting a key to what it is, change nothing. Any other error is
// engine.ErrCorrupt or the store's, and leaves t unusable. Update keeps nothing
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
		leaves, _ := t.merge(nil, changes)
		return t.build(p, k, leaves, nil), nil
	}
	// A bucket is about to be replaced.
	pg, err := t.load(&p, k, int(k.count) > bucketSize(p.Len()) || t.past != nil)
	if err != nil {
		return kid{}, err
	}
	if pg.kids == nil {
		leaves, differ := t.merge(pg.leaves, changes)
		if !differ {
			return k, nil
		}
		return t.build(p, k, leaves, pg), nil
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
	leaves := make([]Leaf, 0, next.count)
	if leaves, err = t.collect(&p, next, leaves); err != nil {
		return kid{}, err
	}
	return t.build(p, k, leaves, nil), nil
}

// merge returns the sorted leaves with changes made, in memory that is good until the
// next call, and whether that is anything new.
func (t *Trie) merge(leaves []Leaf, changes []Change) (merged []Leaf, differ bool) {
	c := t.changing()
	c.merged, differ = mergeLeaves(c.merged[:0], leaves, changes)
	return c.merged, differ
}

// mergeLeaves appends the sorted leaves, with changes made, to merged, and returns
// whether that is anything new.
func mergeLeaves(merged, leaves []Leaf, changes []Change) (_ []Leaf, differ bool) {
	for i := range changes {
		c := &changes[i]
		n := 0
		for n < len(leaves) && bytes.Compare(leaves[n].Key[:], c.Key[:]) < 0 {
			n++
		}
		merged, leaves = append(merged, leaves[:n]...), leaves[n:]
		old := len(leaves) > 0 && leaves[0].Key == c.Key
		switch {
		case old && !c.Delete && leaves[0].Value == c.Value:
			merged = append(merged, leaves[0])
		case !c.Delete:
			merged = append(merged, Leaf{Key: c.Key, Value: c.Value})
			differ = true
		case old:
			differ = true
		}
		if old {
			leaves = leaves[1:]
		}
	}
	return append(merged, leaves...), differ
}

// build puts the pages of leaves, of which it keeps none, at p and below, where the
// page was known as k; old is that page if it was a bucket, or nil. It returns what
// the page is known by.
func (t *Trie) build(p Prefix, k kid, leaves []Leaf, old *page) kid {
	if len(leaves) == 0 {
		t.remove(p, k)
		return kid{}
	}
	depth := p.Len()
	if len(leaves) <= bucketSize(depth) {
		return t.put(p, k, newBucket(leaves, old, depth))
	}
	pg := newInner(nil)
	for len(leaves) > 0 {
		n := run(leaves, depth)
		i := nibble(&leaves[0].Key, depth)
		pg.kids[i] = t.build(p.child(i), kid{}, leaves[:n], old)
		leaves = leaves[n:]
	}
	pg.seal(&p)
	return t.put(p, k, pg)
}

// collect appends all leaves below the inner page pg at p to leaves, and removes
// the pages that they are in.
func (t *Trie) collect(p *Prefix, pg *page, leaves []Leaf) ([]Leaf, error) {
	for i := range pg.kids {
		k := pg.kids[i]
		if k.count == 0 {
			continue
		}
		at := p.child(i)
		below, err := t.load(&at, k, t.past != nil)
		if err == nil && below.kids != nil {
			leaves, err = t.collect(&at, below, leaves)
		} else if err == nil {
			leaves = append(leaves, below.leaves...)
		}
		if err != nil {
			return nil, err
		}
		t.remove(at, k)
	}
	return leaves, nil
}

// put makes pg the page at p, which was known as k.
func (t *Trie) put(p Prefix, k kid, pg *page) kid {
	t.set(pageChange{at: p, page: pg, was: k})
	return pg.kid()
}

// remove takes away the page at p, which was known as k.
func (t *Trie) remove(p Prefix, k kid) {
	if k.count > 0 {
		t.set(pageChange{at: p, was: k})
	}
}
