package dag

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Builds before dag-gone kept a row of dag-version for each write to each key, with keys as those of dag-late and 01 ‖
// SHA-256(value) of a put or 02 of a delete as values; and no marks in the trie, nor what is before in the rows of the
// order. What there is now is made of these rows when a store is opened, context by context; until the last batch of a
// context they are there, so that it can be begun anew.

var versionScope = keys.MustScope("dag-version")

// A batch of it has about so many bytes, or so many keys. Tests change it.
var (
	convertBytes = adoptBytes
	convertKeys  = 4096
)

// isOlder reports whether a context has such rows.
func isOlder(r engine.Reader, id *codec.ContextID) (bool, error) {
	return anyIn(r, contextPrefix(nil, versionScope, id))
}

// convertAll makes the rows of all contexts that have such rows anew. Nobody else uses the store.
func (s *Store) convertAll() error {
	rg := engine.Prefixed(versionScope[:])
	rg.Limit = 1
	for {
		var id *codec.ContextID
		err := each(s.db, rg, func(key, _ []byte) error {
			if len(key) < contextPrefixLen {
				return damagedRow(column.Generic, key, "not a version")
			}
			id = (*codec.ContextID)(bytes.Clone(key[len(versionScope):contextPrefixLen]))
			return nil
		})
		if err != nil || id == nil {
			return err
		}
		s.options.Log.Info("dag: the rows of a context are made anew: an older build wrote them", "context", id)
		c := conversion{db: s.db, id: *id}
		c.view.Reset(s.db, &c.batch)
		switch err := c.run(); {
		case errors.Is(err, engine.ErrCorrupt): // the others are served
			s.options.Log.Error("dag: the rows of a context can't be made anew: delete it, and seed it again", "context", id, "error", err)
		case err != nil:
			return fmt.Errorf("dag: context %s: rows of an older build: %w", id, err)
		}
		rg.Start = engine.Successor(contextPrefix(nil, versionScope, id))
	}
}

// conversion is a context on its way. It applies the deltas again, as far as versions go: the newest of each key so far
// is in dag-gone.
type conversion struct {
	db    engine.Engine
	id    codec.ContextID
	row   contextRow
	batch engine.Batch
	view  view // with the batch
}

func (c *conversion) flush(least int) error {
	if c.batch.Len() == 0 || c.batch.Size() < least {
		return nil
	}
	err := c.db.Apply(&c.batch)
	c.batch.Reset()
	c.view.Reset(c.db, &c.batch)
	return err
}

func (c *conversion) run() (err error) {
	if c.row, err = readContextRow(c.db, c.id); err != nil {
		return err
	}
	for _, scope := range []keys.Scope{goneScope, lateScope} { // of a conversion that was broken off
		deleteRange(&c.batch, column.Generic, contextPrefix(nil, scope, &c.id))
	}
	if err := c.flush(0); err != nil {
		return err
	}
	for _, step := range []func() error{c.base, c.order, c.newest} {
		if err := step(); err != nil {
			return err
		}
	}
	deleteRange(&c.batch, column.Generic, contextPrefix(nil, versionScope, &c.id))
	c.batch.Durability = engine.Synced
	return c.flush(0)
}

// base begins with what the context was seeded with.
func (c *conversion) base() error {
	if !c.row.seeded() {
		return nil
	}
	return c.versions(func(of codec.Hash, by *stamp, _ bool, _ []byte) error {
		if by.id == c.row.base.id {
			c.put(goneKey(nil, &c.id, &of), 1)
		}
		return c.flush(convertBytes)
	})
}

// order applies the deltas.
func (c *conversion) order() error {
	return each(c.db, engine.Prefixed(contextPrefix(nil, orderScope, &c.id)), func(key, value []byte) error {
		o, ok := parseOrder(value)
		seq, is := orderSeq(key)
		switch {
		case !ok || !is:
			return damagedRow(column.Generic, key, "not a place in the order")
		case o.gone():
			return nil
		}
		if o.before = nil; o.id != c.row.base.id {
			if err := c.apply(seq, &o); err != nil {
				return err
			}
		}
		c.batch.Put(column.Generic, key, o.appendBinary(nil))
		return c.flush(convertBytes)
	})
}

// apply finds what is before the versions of a delta.
func (c *conversion) apply(seq uint64, o *orderRow) error {
	v, ok, err := readDelta(c.db, c.id, &o.id)
	if err != nil {
		return err
	}
	if !ok {
		return damagedRow(column.Delta, deltaKey(nil, &c.id, &o.id), "an applied delta is missing")
	}
	hashes := make([]codec.Hash, len(v.Actions))
	for i := range v.Actions {
		hashes[i] = merkle.HashKey(v.Actions[i].Key)
	}
	slices.SortFunc(hashes, func(a, b codec.Hash) int { return bytes.Compare(a[:], b[:]) })
	mine := stamp{o.hlc, o.id}
	p := past{v: &c.view, id: c.id}
	o.before = make([]uint64, len(hashes))
	for i := range hashes {
		last, err := p.gone(&hashes[i])
		if err != nil {
			return err
		}
		if last != 0 {
			newest, err := readOrder(&c.view, &c.id, last)
			if err != nil {
				return err
			}
			if by := (stamp{newest.hlc, newest.id}); by.after(&mine) {
				c.put(lateKey(nil, &c.id, &hashes[i], &mine), seq)
				continue
			}
		}
		o.before[i] = last
		c.put(goneKey(nil, &c.id, &hashes[i]), seq)
	}
	return nil
}

func (c *conversion) put(key []byte, seq uint64) {
	c.batch.Put(column.Generic, key, appendU64(nil, seq))
}

// newest has the trie say which versions of the keys that are there are the newest.
func (c *conversion) newest() error {
	meta, err := readMeta(c.db, c.id)
	if err != nil {
		return err
	}
	trie := merkle.OpenMarked(merkle.NewCache(0), c.db, c.id, meta.RootHash)
	p := past{v: &c.view, id: c.id}
	var changes []merkle.Change
	mark := func() error {
		err := trie.Update(changes)
		if err != nil {
			return err
		}
		if trie.Root() != meta.RootHash {
			return damagedRow(column.Meta, c.id[:], "the newest versions are not the state")
		}
		trie.Write(&c.batch)
		for i := range changes {
			c.batch.Delete(column.Generic, goneKey(nil, &c.id, &changes[i].Key))
		}
		changes = changes[:0]
		if err := c.flush(0); err != nil {
			return err
		}
		trie.Written()
		return nil
	}
	var last codec.Hash
	first := true
	err = c.versions(func(of codec.Hash, _ *stamp, put bool, value []byte) error {
		if !first && of == last {
			return nil
		}
		if first, last = false, of; !put {
			return nil
		}
		seq, err := p.gone(&of)
		if err != nil {
			return err
		}
		changes = append(changes, merkle.Change{Key: of, Value: codec.Hash(value), Mark: seq})
		if len(changes) < convertKeys {
			return nil
		}
		return mark()
	})
	if err == nil {
		err = mark()
	}
	return err
}

// versions calls fn with the rows of dag-version: by key, the newest first. value is that of a put.
func (c *conversion) versions(fn func(of codec.Hash, by *stamp, put bool, value []byte) error) error {
	return each(c.db, engine.Prefixed(contextPrefix(nil, versionScope, &c.id)), func(key, value []byte) error {
		of, by, ok := parseLate(key)
		put := len(value) == 1+32 && value[0] == 1
		if !ok || !put && !(len(value) == 1 && value[0] == 2) {
			return damagedRow(column.Generic, key, "not a version")
		}
		return fn(of, &by, put, value[1:])
	})
}
