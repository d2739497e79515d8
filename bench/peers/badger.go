package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/stoadb/stoa/bench"
)

// openBadger fills a store, and makes an empty one that syncs every write: that
// is a setting of a store as a whole.
func openBadger(o bench.Options, data *bench.Dataset) ([]*bench.Subject, error) {
	all := bench.RowWorkloadNames()
	synced := func(name string) bool { return strings.HasPrefix(name, "put-synced") }
	var subjects []*bench.Subject
	for _, s := range []*bench.Subject{
		{Name: "badger", Lacks: slices.DeleteFunc(slices.Clone(all), func(n string) bool { return !synced(n) })},
		{Name: "badger-synced", Lacks: slices.DeleteFunc(slices.Clone(all), synced)},
	} {
		opts := badger.DefaultOptions(filepath.Join(o.Dir, s.Name)).WithLogger(nil).
			WithSyncWrites(s.Name == "badger-synced").WithBlockCacheSize(cacheBytes).WithNumCompactors(compactions)
		db, err := badger.Open(opts)
		if err != nil {
			return subjects, fmt.Errorf("opening badger: %w", err)
		}
		s.Close, s.Settle, s.Dir = db.Close, db.Sync, opts.Dir
		s.Actor = func() (bench.Actor, error) { return &badgerActor{rows: rows{data: data}, db: db}, nil }
		subjects = append(subjects, s)
		if opts.SyncWrites {
			continue
		}
		o.Logger.Info("filling badger", "rows", data.Rows)
		if err := (&badgerActor{rows: rows{data: data}, db: db}).load(); err != nil {
			return subjects, fmt.Errorf("filling badger: %w", err)
		}
	}
	return subjects, nil
}

// badgerActor works on badger. What its Put and Batch wrote is with the kernel, in
// files that badger maps, when they return.
type badgerActor struct {
	rows
	db  *badger.DB
	buf []byte
}

func (a *badgerActor) load() error {
	for first := 0; first < a.data.Rows; first += loadRows {
		if err := a.Batch(first, min(loadRows, a.data.Rows-first)); err != nil {
			return err
		}
	}
	return a.db.Flatten(compactions)
}

func (a *badgerActor) Get(row int) error {
	return a.db.View(func(tx *badger.Txn) error { return a.get(tx, row) })
}

func (a *badgerActor) get(tx *badger.Txn, row int) error {
	item, err := tx.Get(a.at(row))
	if err != nil {
		return err
	}
	if a.buf, err = item.ValueCopy(a.buf); err == nil && len(a.buf) != bench.ValueBytes {
		err = errSize
	}
	return err
}

func (a *badgerActor) Miss(row int) error {
	return a.db.View(func(tx *badger.Txn) error {
		switch _, err := tx.Get(a.at(row)); err {
		case nil:
			return errStored
		case badger.ErrKeyNotFound:
			return nil
		default:
			return err
		}
	})
}

func (a *badgerActor) MultiGet(rows []int) error {
	return a.db.View(func(tx *badger.Txn) error {
		for _, row := range rows {
			if err := a.get(tx, row); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *badgerActor) Put(row int) error       { return a.Batch(row, 1) }
func (a *badgerActor) PutSynced(row int) error { return a.Batch(row, 1) }

// Batch keeps its keys and values until the transaction is over: badger does not
// copy them.
func (a *badgerActor) Batch(first, n int) error {
	return a.db.Update(func(tx *badger.Txn) error {
		for i := range n {
			key, value := a.of(first + i)
			if err := tx.Set(slices.Clone(key), slices.Clone(value)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *badgerActor) Scan(row, n int) (int, error) {
	key := a.at(row)
	return a.iterate(key, key[:bench.ContextBytes], n)
}

func (a *badgerActor) Walk() (int, error) { return a.iterate(nil, nil, 0) }

// iterate reads entries from a key on, within a prefix; a limit of 0 is none.
func (a *badgerActor) iterate(from, prefix []byte, limit int) (n int, err error) {
	err = a.db.View(func(tx *badger.Txn) error {
		o := badger.DefaultIteratorOptions
		o.Prefix = prefix
		it := tx.NewIterator(o)
		defer it.Close()
		for it.Seek(from); it.Valid() && (limit == 0 || n < limit); it.Next() {
			item := it.Item()
			if err := item.Value(func(v []byte) error { return sized(item.Key(), v) }); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

func (a *badgerActor) Release() error { return nil }
