package dag

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Builds before dag-gone kept a row of dag-version for each write to each key, and nothing of versions in the rows
// of the order. What there is now is made of these rows when a store is opened, context by context; until the last
// batch of a context they are there, so that it can be begun anew.

var versionScope = keys.MustScope("dag-version")

// A batch of them has about so many bytes, or so many keys. Tests change it.
var (
	convertBytes = adoptBytes
	convertKeys  = 4096
)

// olderKey appends the key of such a row. All bits of the stamp are turned over, so that the newest version of a key
// comes first.
func olderKey(dst []byte, context *codec.ContextID, key *codec.Hash, s *stamp) []byte {
	dst = append(contextPrefix(dst, versionScope, context), key[:]...)
	dst = binary.BigEndian.AppendUint64(dst, ^s.hlc.Time)
	dst = binary.BigEndian.AppendUint64(dst, ^s.hlc.ID.Hi)
	dst = binary.BigEndian.AppendUint64(dst, ^s.hlc.ID.Lo)
	for _, b := range s.id {
		dst = append(dst, ^b)
	}
	return dst
}

// parseOlder returns the key and the delta of such a row, and false if it is none.
func parseOlder(key []byte) (of codec.Hash, by codec.DeltaID, ok bool) {
	const fixed = contextPrefixLen + 32 + 8 + 16
	if len(key) != fixed+len(by) {
		return of, by, false
	}
	for i, b := range key[fixed:] {
		by[i] = ^b
	}
	return codec.Hash(key[contextPrefixLen:]), by, true
}

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
		switch err := c.run(); {
		case errors.Is(err, engine.ErrCorrupt): // the others are served
			s.options.Log.Error("dag: the rows of a context can't be made anew: delete it, and seed it again", "context", id, "error", err)
		case err != nil:
			return fmt.Errorf("dag: context %s: rows of an older build: %w", id, err)
		}
		rg.Start = engine.Successor(contextPrefix(nil, versionScope, id))
	}
}

// conversion is a context on its way.
type conversion struct {
	db    engine.Engine
	id    codec.ContextID
	batch engine.Batch
}

func (c *conversion) flush(least int) error {
	if c.batch.Len() == 0 || c.batch.Size() < least {
		return nil
	}
	err := c.db.Apply(&c.batch)
	c.batch.Reset()
	return err
}

func (c *conversion) run() error {
	row, err := readContextRow(c.db, c.id)
	if err != nil {
		return err
	}
	err = each(c.db, engine.Prefixed(contextPrefix(nil, orderScope, &c.id)), func(key, value []byte) error {
		o, ok := parseOrder(value)
		switch {
		case !ok:
			return damagedRow(column.Generic, key, "not a place in the order")
		case o.gone():
			return nil
		}
		if o.before = nil; o.id != row.base.id {
			if o.before, err = c.before(&o); err != nil {
				return err
			}
		}
		c.batch.Put(column.Generic, key, o.appendBinary(nil))
		return c.flush(convertBytes)
	})
	if err != nil {
		return err
	}
	if err := c.newest(); err != nil {
		return err
	}
	deleteRange(&c.batch, column.Generic, contextPrefix(nil, versionScope, &c.id))
	c.batch.Durability = engine.Synced
	return c.flush(0)
}

// newest says in the trie and in dag-gone which versions are the newest.
func (c *conversion) newest() error {
	meta, err := readMeta(c.db, c.id)
	if err != nil {
		return err
	}
	trie := merkle.OpenMarked(merkle.NewCache(0), c.db, c.id, meta.RootHash)
	var changes []merkle.Change
	mark := func() error {
		err := trie.Update(changes)
		if changes = changes[:0]; err != nil {
			return err
		}
		if trie.Root() != meta.RootHash {
			return damagedRow(column.Meta, c.id[:], "the newest versions are not the state")
		}
		trie.Write(&c.batch)
		if err := c.flush(0); err != nil {
			return err
		}
		trie.Written()
		return nil
	}
	var last codec.Hash
	first := true
	err = each(c.db, engine.Prefixed(contextPrefix(nil, versionScope, &c.id)), func(key, value []byte) error {
		of, by, ok := parseOlder(key)
		if !ok || len(value) != 1 && len(value) != 1+32 {
			return damagedRow(column.Generic, key, "not a version")
		}
		if !first && of == last {
			return nil
		}
		first, last = false, of
		seq, err := c.seq(key, &by)
		if err != nil {
			return err
		}
		if len(value) == 1 { // a delete
			c.batch.Put(column.Generic, goneKey(nil, &c.id, &of), appendU64(nil, seq))
			return c.flush(convertBytes)
		}
		changes = append(changes, merkle.Change{Key: of, Value: codec.Hash(value[1:]), Mark: seq})
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

// before returns the numbers of the versions before those of a delta.
func (c *conversion) before(o *orderRow) ([]uint64, error) {
	v, ok, err := readDelta(c.db, c.id, &o.id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, damagedRow(column.Delta, deltaKey(nil, &c.id, &o.id), "an applied delta is missing")
	}
	hashes := make([]codec.Hash, len(v.Actions))
	for i := range v.Actions {
		hashes[i] = merkle.HashKey(v.Actions[i].Key)
	}
	slices.SortFunc(hashes, func(a, b codec.Hash) int { return bytes.Compare(a[:], b[:]) })
	before := make([]uint64, len(hashes))
	for i := range hashes {
		rg := engine.Prefixed(append(contextPrefix(nil, versionScope, &c.id), hashes[i][:]...))
		rg.Start, rg.Limit = append(olderKey(nil, &c.id, &hashes[i], &stamp{o.hlc, o.id}), 0), 1
		err := each(c.db, rg, func(key, _ []byte) error {
			_, by, ok := parseOlder(key)
			if !ok {
				return damagedRow(column.Generic, key, "not a version")
			}
			before[i], err = c.seq(key, &by)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return before, nil
}

// seq returns the number of the delta whose version a row is.
func (c *conversion) seq(row []byte, by *codec.DeltaID) (uint64, error) {
	seq, ok, err := readSeq(c.db, &c.id, by)
	if err == nil && !ok {
		err = damagedRow(column.Generic, row, "a version of a delta that is not applied")
	}
	return seq, err
}
