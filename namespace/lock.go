package namespace

import (
	"bytes"
	"context"
	"maps"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Lock makes of namespaces what a node has of them that holds their ops and none of their
// keys: nothing that is sealed can be read, and of logs and groups there is what follows
// from ops that are clear. It is for a store to which ops were copied without keys, and which no
// [Store] has. Ops that cannot be taken in, since others before them are missing, are passed
// to lost and deleted: they come again from who has them all. Writes are as durable as
// engine.WAL; a call that fails leaves a part, which another call makes whole. It returns
// errors of r, w, ctx and lost.
func Lock(ctx context.Context, r engine.Reader, w engine.Writer, namespaces []codec.GroupID, lost func(key []byte, err error) error) error {
	l := &locking{ctx: ctx, r: r, w: w, lost: lost, groups: map[codec.GroupID]bool{},
		namespaces: map[codec.GroupID]bool{}, gaps: map[codec.GroupID]bool{}}
	for _, ns := range namespaces {
		l.namespaces[ns] = true
		if err := l.unread(ns); err != nil {
			return err
		}
	}
	if err := l.drop(); err != nil {
		return err
	}
	for _, ns := range namespaces {
		if err := l.derive(ns); err != nil {
			return err
		}
	}
	return l.flush(0)
}

type locking struct {
	ctx        context.Context
	r          engine.Reader
	w          engine.Writer
	lost       func(key []byte, err error) error
	namespaces map[codec.GroupID]bool
	groups     map[codec.GroupID]bool // that their ops are about
	gaps       map[codec.GroupID]bool // namespaces of which ops are missing
	batch      engine.Batch
}

// flush writes the batch, once it has so many bytes.
func (l *locking) flush(full int) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if l.batch.Len() == 0 || l.batch.Size() < full {
		return nil
	}
	l.batch.Durability = engine.WAL
	err := l.w.Apply(&l.batch)
	l.batch.Reset()
	return err
}

// unread notes of all ops of a namespace that they could not be read, and which groups they
// are about.
func (l *locking) unread(ns codec.GroupID) error {
	groups, err := GroupsOf(l.r, ns)
	if err != nil {
		return err
	}
	maps.Copy(l.groups, groups)
	next := uint64(0)
	err = each(l.r, scoped(nil, opScope, ns), func(key, value []byte) error {
		if n, err := numberOf(key); err != nil || n != next {
			l.gaps[ns] = true
		}
		next++
		locked := Unread(key, value)
		if bytes.Equal(locked, value) {
			return nil
		}
		f, err := parseFact(key, value)
		if err == nil {
			if op, err := readOp(l.r, ns, f.id); err == nil && (op.Clear != nil || op.handsOut() > 0) {
				return nil // see log
			}
		}
		l.batch.Put(column.Generic, key, locked)
		return l.flush(fullBytes)
	})
	if err != nil {
		return err
	}
	return l.flush(0)
}

// drop deletes what follows from ops.
func (l *locking) drop() error {
	follows := func(key, value []byte) bool { return logged(key, l.groups) || derived(key, value, l.groups) }
	err := differing(l.r, follows, nil, func(key, _, _ []byte) error {
		l.batch.Delete(column.Group, key)
		if ref, err := (keys.ContextGroupRef{}).Parse(key); err == nil {
			engine.Delete(&l.batch, keys.ContextConfig(ref))
		}
		return l.flush(fullBytes)
	})
	if err != nil {
		return err
	}
	err = each(l.r, homeScope[:], func(key, _ []byte) error {
		if ns, ok := OfNamespace(key); ok && l.namespaces[ns] {
			l.batch.Delete(column.Generic, key)
		}
		return l.flush(fullBytes)
	})
	if err != nil {
		return err
	}
	return l.flush(0)
}

// derive writes what follows from the ops of a namespace.
func (l *locking) derive(ns codec.GroupID) error {
	c := newLoaded(ns)
	c.renumbers, c.report = true, func(_ column.Column, key []byte, err error) error {
		l.gaps[ns] = true
		return l.lost(key, err)
	}
	rows, err := c.fold(l.r)
	if err == nil {
		_, err = c.judgeHandouts()
	}
	if err == nil {
		err = l.log(c)
	}
	if err != nil {
		return err
	}
	if c.ledger.Len() > 0 {
		putRules(&l.batch, ns, c.newest())
	} else {
		rows = nil
	}
	for _, row := range rows {
		if row.Value == nil {
			continue
		}
		l.batch.Put(row.Column, row.Key, row.Value)
		if err := l.flush(fullBytes); err != nil {
			return err
		}
	}
	if l.gaps[ns] {
		if err := l.keep(c); err != nil {
			return err
		}
	}
	return l.flush(0)
}

// log writes the entries of logs, which are the clear ops, and what is clear of keys.
func (l *locking) log(c *loaded) error {
	for i, f := range c.facts {
		if f.seq > 0 {
			op, err := readOp(l.r, c.id, f.id)
			if err != nil {
				return err
			}
			inner, err := innerOf(op.Signed)
			if err != nil {
				return err
			}
			engine.Put(&l.batch, keys.GroupOpLog{Group: op.GroupID, Seq: keys.NewSeq(f.seq)}, codec.OpLogValue{Op: inner})
		}
		if f.seq > 0 || len(f.keys) > 0 {
			l.batch.Put(column.Generic, numbered(opScope, c.id, uint64(i)), f.appendBinary(nil))
		}
		if err := l.flush(fullBytes); err != nil {
			return err
		}
	}
	return nil
}

// keep deletes the ops that are not among those that could be taken in, and numbers the
// others. Where none are left the namespace is followed all the same, so that they can come
// again.
func (l *locking) keep(c *loaded) error {
	if len(c.facts) == 0 {
		l.batch.Put(column.Generic, scoped(nil, followedScope, c.id), nil)
	}
	for i, f := range c.facts {
		l.batch.Put(column.Generic, numbered(opScope, c.id, uint64(i)), f.appendBinary(nil))
		if err := l.flush(fullBytes); err != nil {
			return err
		}
	}
	err := each(l.r, scoped(nil, opScope, c.id), func(key, _ []byte) error {
		if n, err := numberOf(key); err != nil || n >= uint64(len(c.facts)) {
			l.batch.Delete(column.Generic, key)
		}
		return l.flush(fullBytes)
	})
	if err != nil {
		return err
	}
	for e, err := range engine.Scan(l.r, keys.GovOpsOf(c.id)) {
		if err != nil {
			return err
		}
		if _, kept := c.ledger.Find(e.Key.Delta); !kept {
			engine.Delete(&l.batch, e.Key)
		}
		if err := l.flush(fullBytes); err != nil {
			return err
		}
	}
	return nil
}
