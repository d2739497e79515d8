//go:build cgo

package rocks

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/linxGnu/grocksdb"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// store is one opening of a database. The engine has one at a time, and a new
// one after Reopen. Whoever uses a store holds the engine's lock for reading;
// who closes it, for writing.
type store struct {
	h        handles
	db       *grocksdb.DB
	cache    *grocksdb.Cache
	families [column.Count + 1]*grocksdb.ColumnFamilyHandle // by column; 0: default
	opened   []*grocksdb.ColumnFamilyHandle
	ids      familyIDs
	open     openList // iterators and snapshots

	written atomic.Uint64 // the last sequence that was written,
	synced  atomic.Uint64 // and the last one that is on disk
}

// opening says how a database is opened.
type opening struct {
	dir      string
	options  *Options
	mode     Mode
	families []string // default first
	readOnly bool
	create   bool
}

// open opens a database. Its error is ErrCorrupt, ErrLocked or ErrNoSpace where
// it is one of them.
func (o opening) open() (*store, error) {
	opts, err := databaseOptions(o.options, o.mode)
	if err != nil {
		return nil, err
	}
	defer opts.Destroy()
	st := &store{cache: grocksdb.NewLRUCache(uint64(o.options.CacheBytes))}
	opts.SetCreateIfMissing(o.create)
	opts.SetCreateIfMissingColumnFamilies(o.create)
	table := tableOptions(st.cache)
	defer table.Destroy()
	opts.SetBlockBasedTableFactory(table)

	all := make([]*grocksdb.Options, len(o.families))
	for i, name := range o.families {
		all[i] = opts
		if c, ok := column.Parse(name); ok {
			family, err := familyOptions(c.Spec(), st.cache)
			if err != nil {
				st.cache.Destroy()
				return nil, err
			}
			defer family.Destroy()
			all[i] = family
		}
	}
	if o.readOnly {
		st.db, st.opened, err = grocksdb.OpenDbForReadOnlyColumnFamilies(opts, o.dir, o.families, all, false)
	} else {
		st.db, st.opened, err = grocksdb.OpenDbColumnFamilies(opts, o.dir, o.families, all)
	}
	if err != nil {
		st.cache.Destroy()
		return nil, openError(o.dir, err)
	}
	st.adopt(o.families)
	return st, nil
}

// adopt sorts the open families by column.
func (st *store) adopt(names []string) {
	for i, name := range names {
		c, _ := column.Parse(name) // 0 for the default family
		st.families[c] = st.opened[i]
		st.ids.set(c, st.opened[i].ID())
	}
	st.h = newHandles(st.db, st.families)
	seq := st.db.GetLatestSequenceNumber()
	st.written.Store(seq)
	st.synced.Store(seq)
}

// close gives back everything, in the order that RocksDB demands.
func (st *store) close() {
	st.open.closeAll(st)
	st.h.release()
	for _, f := range st.opened {
		f.Destroy()
	}
	st.db.Close()
	st.cache.Destroy()
}

// write makes the changes of a batch.
func (st *store) write(ops []byte, sync bool) error {
	seq, err := st.h.write(st.ids.translate(ops), sync)
	if err != nil {
		return err
	}
	st.written.Store(seq)
	if sync {
		st.synced.Store(seq)
	}
	return nil
}

// openError says why dir could not be opened, and what to do.
func openError(dir string, err error) error {
	err = classify("open "+dir, err.Error())
	switch {
	case errors.Is(err, errHeld):
		return lockHolder(dir)
	case errors.Is(err, engine.ErrLocked):
		return fmt.Errorf("%w: %s is open in this process already", engine.ErrLocked, dir)
	case errors.Is(err, engine.ErrCorrupt):
		return fmt.Errorf("%w; nothing was changed; %s", err, salvageHint(dir))
	}
	return err
}
