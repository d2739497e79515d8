package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/stoadb/stoa/bench"
	"github.com/stoadb/stoa/engine"
)

// What engine/rocks has for these rows.
const (
	memtableBytes   = 64 << 20
	cacheBytes      = 2 << 30
	bloomBitsPerKey = 10
	compactions     = 2
)

// pebbleIn opens a store in a directory, with a cache of that size.
func pebbleIn(o bench.Options, cacheBytes int64) (*pebble.DB, error) {
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref() // the database holds it
	opts := &pebble.Options{
		Cache:                      cache,
		MemTableSize:               memtableBytes,
		FormatMajorVersion:         pebble.FormatNewest,
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, compactions },
		Logger:                     quiet{o.Logger},
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
	}
	db, err := pebble.Open(filepath.Join(o.Dir, "pebble"), opts)
	if err != nil {
		return nil, fmt.Errorf("opening pebble: %w", err)
	}
	return db, nil
}

// openPebble fills a store and compacts it.
func openPebble(o bench.Options, data *bench.Dataset) ([]*bench.Subject, error) {
	db, err := pebbleIn(o, cacheBytes)
	if err != nil {
		return nil, err
	}
	s := &bench.Subject{
		Name: "pebble", Dir: filepath.Join(o.Dir, "pebble"), Close: db.Close, Settle: db.Flush,
		Actor: func() (bench.Actor, error) { return newPebble(db, data), nil },
	}
	o.Logger.Info("filling pebble", "rows", data.Rows)
	if err := newPebble(db, data).load(); err != nil {
		return []*bench.Subject{s}, fmt.Errorf("filling pebble: %w", err)
	}
	return []*bench.Subject{s}, nil
}

// pebbleActor works on Pebble. Put and Batch are pebble.NoSync: their records
// may still be in the memory of the process when they return.
type pebbleActor struct {
	rows
	db      *pebble.DB
	changes *pebble.Batch
	buf     []byte
}

func newPebble(db *pebble.DB, data *bench.Dataset) *pebbleActor {
	return &pebbleActor{rows: rows{data: data}, db: db, changes: db.NewBatch()}
}

func (a *pebbleActor) load() error {
	defer a.Release()
	for first := 0; first < a.data.Rows; first += loadRows {
		if err := a.Batch(first, min(loadRows, a.data.Rows-first)); err != nil {
			return err
		}
	}
	if err := a.db.Flush(); err != nil {
		return err
	}
	return a.db.Compact(context.Background(), nil, bytes.Repeat([]byte{0xFF}, bench.KeyBytes), true)
}

func (a *pebbleActor) Get(row int) error {
	v, closer, err := a.db.Get(a.at(row))
	if err != nil {
		return err
	}
	defer closer.Close()
	if a.buf = append(a.buf[:0], v...); len(a.buf) != bench.ValueBytes {
		return errSize
	}
	return nil
}

func (a *pebbleActor) Miss(row int) error {
	switch _, closer, err := a.db.Get(a.at(row)); {
	case err == nil:
		return errors.Join(errStored, closer.Close())
	case errors.Is(err, pebble.ErrNotFound):
		return nil
	default:
		return err
	}
}

func (a *pebbleActor) MultiGet(rows []int) error {
	for _, row := range rows { // Pebble has no call for several
		if err := a.Get(row); err != nil {
			return err
		}
	}
	return nil
}

func (a *pebbleActor) Put(row int) error       { return a.set(row, pebble.NoSync) }
func (a *pebbleActor) PutSynced(row int) error { return a.set(row, pebble.Sync) }

func (a *pebbleActor) set(row int, o *pebble.WriteOptions) error {
	key, value := a.of(row)
	return a.db.Set(key, value, o)
}

func (a *pebbleActor) Batch(first, n int) error {
	a.changes.Reset()
	for i := range n {
		key, value := a.of(first + i)
		if err := a.changes.Set(key, value, nil); err != nil {
			return err
		}
	}
	return a.changes.Commit(pebble.NoSync)
}

func (a *pebbleActor) Scan(row, n int) (int, error) {
	key := a.at(row)
	return a.iterate(&pebble.IterOptions{LowerBound: key, UpperBound: engine.Successor(key[:bench.ContextBytes])}, n)
}

func (a *pebbleActor) Walk() (int, error) { return a.iterate(nil, a.data.Rows+1) }

func (a *pebbleActor) iterate(o *pebble.IterOptions, limit int) (n int, err error) {
	it, err := a.db.NewIter(o)
	if err != nil {
		return 0, err
	}
	for ok := it.First(); ok && n < limit && err == nil; ok = it.Next() {
		err = sized(it.Key(), it.Value())
		n++
	}
	return n, errors.Join(err, it.Close())
}

func (a *pebbleActor) Release() error { return a.changes.Close() }

// quiet passes on only what went wrong: Pebble tells of each flush.
type quiet struct{ log *slog.Logger }

func (quiet) Infof(string, ...any)                {}
func (q quiet) Errorf(format string, args ...any) { q.log.Error(fmt.Sprintf(format, args...)) }

// Fatalf must not return.
func (q quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf("pebble: "+format, args...)) }
