package merkle

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Leaf is a key of a trie and what is there.
type Leaf struct {
	Key   codec.Hash // [HashKey] of the app_key
	Value codec.Hash // [HashValue] of the value
}

// Lookup returns the hash of the value under key, and whether there is one. Its
// error is engine.ErrCorrupt or the store's.
func (t *Trie) Lookup(key codec.Hash) (value codec.Hash, found bool, err error) {
	n, err := t.topNode()
	for err == nil {
		switch {
		case n.kind == nodeLeaf && n.key == key:
			return n.value, true, nil
		case n.kind != nodeBranch, !n.prefix().Covers(key):
			return codec.Hash{}, false, nil
		}
		n, err = t.below(&n, nibble(&key, n.depth))
	}
	return codec.Hash{}, false, err
}

// Mark returns the mark of a key of a trie that was opened by [OpenMarked], and whether there is such a key. Its error
// is engine.ErrCorrupt or the store's.
func (t *Trie) Mark(key codec.Hash) (mark uint64, found bool, err error) {
	k, err := t.rootKid()
	for p := (Prefix{}); err == nil && k.count > 0; {
		var pg *page
		if pg, err = t.load(&p, k, true); err != nil {
			break
		}
		if pg.kids == nil {
			i, found := slices.BinarySearchFunc(pg.leaves, key, func(l Leaf, key codec.Hash) int { return bytes.Compare(l.Key[:], key[:]) })
			if !found {
				return 0, false, nil
			}
			return pg.marks[i], true, nil
		}
		i := nibble(&key, p.Len())
		k, p = pg.kids[i], p.child(i)
	}
	return 0, false, err
}

// Leaves yields all keys in order. It ends after an error, which is
// engine.ErrCorrupt or the store's. t must not be changed meanwhile.
func (t *Trie) Leaves() iter.Seq2[Leaf, error] {
	return func(yield func(Leaf, error) bool) {
		n, err := t.topNode()
		if err == nil {
			_, err = t.walk(&n, func(l Leaf) bool { return yield(l, nil) })
		}
		if err != nil {
			yield(Leaf{}, err)
		}
	}
}

// walk calls fn with all leaves of n, in order, until it returns false. It
// reports whether it never did.
func (t *Trie) walk(n *node, fn func(Leaf) bool) (on bool, err error) {
	if n.kind != nodeBranch {
		return n.kind == nodeNone || fn(Leaf{Key: n.key, Value: n.value}), nil
	}
	for i := range n.hashes {
		if n.bits>>i&1 == 0 {
			continue
		}
		child, err := t.below(n, i)
		if err != nil {
			return false, err
		}
		if on, err := t.walk(&child, fn); !on || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Check returns engine.ErrCorrupt, with the row and the reason, unless the
// rows of a context in r are those of the trie whose root is root, and no
// others. It calls visit, unless that is nil, with every leaf, in order, which is not
// to be changed nor kept. It reads all rows, in one state if r is a snapshot, and needs
// memory for little more than a row of each level.
func Check(r engine.Reader, context codec.ContextID, root codec.Hash, visit func(*Leaf)) error {
	if visit == nil {
		visit = func(*Leaf) {}
	}
	t := Open(NewCache(-1), r, context, root)
	top, err := t.rootKid()
	if err != nil {
		return err
	}
	it, err := r.Iterate(column.Generic, engine.Prefixed(t.rowKey(&Prefix{})))
	if err != nil {
		return err
	}
	defer it.Close()
	c := rowChecker{trie: t, rows: it, visit: visit}
	if err := c.check(Prefix{}, top); err != nil {
		return err
	}
	if it.Next() {
		return fmt.Errorf("dag: trie: %w: %s %x: nothing leads to this row", engine.ErrCorrupt, column.Generic, it.Key())
	}
	return it.Err()
}

// rowChecker compares the pages that one leads to from the root with the rows,
// which stand in the same order.
type rowChecker struct {
	trie  *Trie
	rows  *engine.Iterator
	visit func(*Leaf)
}

func (c *rowChecker) check(p Prefix, k kid) error {
	if k.count == 0 {
		return nil
	}
	var pg *page
	var err error
	if hasRow(p.Len(), k.count) {
		pg, err = c.next(&p, k)
	} else {
		pg, err = c.trie.load(&p, k, true)
	}
	if err != nil {
		return err
	}
	for i := range pg.leaves {
		c.visit(&pg.leaves[i])
	}
	if pg.kids == nil {
		return nil
	}
	for i := range pg.kids {
		if err := c.check(p.child(i), pg.kids[i]); err != nil {
			return err
		}
	}
	return nil
}

// next returns the page of the next row, which must be that at p, where the level
// above has k.
func (c *rowChecker) next(p *Prefix, k kid) (*page, error) {
	if !c.rows.Next() {
		if err := c.rows.Err(); err != nil {
			return nil, err
		}
		return nil, c.trie.damaged(p, "the row is missing")
	}
	if string(c.rows.Key()) != string(c.trie.rowKey(p)) {
		return nil, fmt.Errorf("dag: trie: %w: %s %x: nothing leads to this row", engine.ErrCorrupt, column.Generic, c.rows.Key())
	}
	pg, fault := parseRow(p, c.rows.Value(), nil)
	if fault != "" {
		return nil, c.trie.damaged(p, fault)
	}
	return pg, c.trie.is(pg, p, k)
}
