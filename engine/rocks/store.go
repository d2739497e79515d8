//go:build cgo

package rocks

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/linxGnu/grocksdb"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/rows"
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
	foreign  []*grocksdb.ColumnFamilyHandle // of those, what are no columns
	ids      familyIDs
	rows     *rowCache     // nil: there is none
	open     openList      // iterators and snapshots
	pinned   *pinned       // the directory that is read instead; nil: there is none
	home     *home         // of a store that is open for writing; else nil
	term     *rows.Term    // of it, in which its rows are shared; nil: they are not, nor have been
	ended    chan struct{} // closed when it ends

	ranged [column.Count + 1]atomic.Bool // columns that may have deletions of ranges

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
	pinned   *pinned // read this instead of dir; the store closes it
	home     *home   // dir, to write to; who opens the store closes it afterwards
}

// path is the directory that RocksDB is to open.
func (o opening) path() string {
	switch {
	case o.pinned != nil:
		return o.pinned.dir
	case o.home != nil:
		return o.home.path
	}
	return o.dir
}

// renamed says whose files are read there.
func (o opening) renamed() renamed { return renamed{there: o.path(), known: o.dir} }

// open opens a database. Its error is ErrCorrupt, ErrLocked or ErrNoSpace where
// it is one of them. An opening that does not end is given up; see watched.
func (o opening) open() (*store, error) {
	return watched(o.dir, stuckAfter, lookEvery, o.openHere, func(st *store) { st.close() })
}

// openHere opens a database on this thread, however long that takes.
func (o opening) openHere() (*store, error) {
	opts, err := databaseOptions(o.options, o.mode)
	if err != nil {
		return nil, err
	}
	defer opts.Destroy()
	st := &store{cache: newCache(o.options.CacheBytes), pinned: o.pinned, home: o.home, ended: make(chan struct{})}
	opts.SetCreateIfMissing(o.create)
	opts.SetCreateIfMissingColumnFamilies(o.create)
	opts.SetMaxFileOpeningThreads(openers(o.path()))
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
	switch {
	case o.secondary():
		st.db, st.opened, err = grocksdb.OpenDbAsSecondaryColumnFamilies(opts, o.dir, o.options.ScratchDir, o.families, all)
	case o.readOnly:
		st.db, st.opened, err = grocksdb.OpenDbForReadOnlyColumnFamilies(opts, o.path(), o.families, all, false)
	default:
		st.db, st.opened, err = grocksdb.OpenDbColumnFamilies(opts, o.path(), o.families, all)
	}
	if err != nil {
		st.cache.Destroy()
		return nil, openError(o.dir, errors.New(o.renamed().said(err.Error())))
	}
	st.adopt(o.families, o.renamed())
	if o.pinned != nil {
		o.pinned.settle()
	}
	// Opened for writing, nothing is left in a log that is not in a table.
	st.findRanges(o.readOnly && (o.options.held || logBytes(o.dir) > 0))
	if o.secondary() {
		st.h.fix()
	}
	if err := st.keepRows(o.options); err != nil {
		st.close()
		return nil, err
	}
	return st, nil
}

// openers returns how many threads are to open the tables of a directory. RocksDB
// starts them for each family in turn, however few tables that has.
func openers(dir string) int {
	return min(1+len(numbered(dir, ".sst"))/tablesOfAnOpener, mostOpeners)
}

const (
	tablesOfAnOpener = 32
	mostOpeners      = 16 // RocksDB's own number
)

// secondary reports whether the database is to be opened as a secondary
// instance.
func (o opening) secondary() bool {
	return o.readOnly && o.options.held && o.options.ScratchDir != "" && o.pinned == nil
}

// adopt sorts the open families by column.
func (st *store) adopt(names []string, files renamed) {
	for i, name := range names {
		c, known := column.Parse(name) // 0 for the default family
		if !known && name != defaultFamily {
			st.foreign = append(st.foreign, st.opened[i])
			continue
		}
		st.families[c] = st.opened[i]
		st.ids.set(c, st.opened[i].ID())
	}
	st.h = newHandles(st.db, st.families, files)
	seq := st.db.GetLatestSequenceNumber()
	st.written.Store(seq)
	st.synced.Store(seq)
}

// close gives back everything, in the order that RocksDB demands. It returns false, and
// leaves the database open and at rest, if RocksDB would write to another directory: as it
// closes, it looks for its manifest by the path, and makes a new one where it finds none.
func (st *store) close() bool {
	st.endTerm()
	st.open.closeAll(st)
	st.h.release()
	st.rows.close()
	if st.home != nil && !st.home.follows() && st.home.check() != nil {
		st.db.CancelAllBackgroundWork(true)
		return false
	}
	for _, f := range st.opened {
		f.Destroy()
	}
	st.db.Close()
	st.cache.Destroy()
	_ = st.pinned.close() // it is below what its user made, and removes
	return true
}

// write makes the changes of a batch.
func (st *store) write(ops []byte, sync bool) error {
	written := false
	if st.rows != nil {
		st.rows.begin(ops)
		defer func() { st.rows.end(written) }()
	}
	st.noteRanges(ops)
	seq, err := st.h.write(st.ids.translate(ops), sync)
	if err != nil {
		return err
	}
	written = true
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
