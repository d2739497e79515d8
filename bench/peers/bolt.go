package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/stoadb/stoa/bench"
	"github.com/stoadb/stoa/engine"
)

// bucket holds all rows.
var bucket = []byte("State")

// openBolt fills a file with rows in the order of their keys.
func openBolt(o bench.Options, data *bench.Dataset) ([]*bench.Subject, error) {
	db, err := bbolt.Open(filepath.Join(o.Dir, "bbolt"), 0o600, nil)
	if err != nil {
		return nil, fmt.Errorf("opening bbolt: %w", err)
	}
	several := []string{"put-synced-8", "put-synced-64"}
	subjects := []*bench.Subject{
		{
			Name: "bbolt", Dir: filepath.Join(o.Dir, "bbolt"), Close: db.Close, Settle: db.Sync,
			Actor: func() (bench.Actor, error) { return newBolt(db, data, db.Update), nil },
		},
		{
			Name: "bbolt-batch", Close: func() error { return nil }, Settle: db.Sync,
			Lacks: slices.DeleteFunc(bench.RowWorkloadNames(), func(name string) bool { return slices.Contains(several, name) }),
			Actor: func() (bench.Actor, error) { return newBolt(db, data, db.Batch), nil },
		},
	}
	o.Logger.Info("filling bbolt", "rows", data.Rows)
	if err := newBolt(db, data, db.Update).load(); err != nil {
		return subjects, fmt.Errorf("filling bbolt: %w", err)
	}
	return subjects, nil
}

// boltActor works on bbolt. Put and Batch set NoSync: their pages are with the
// kernel when they return.
type boltActor struct {
	rows
	db     *bbolt.DB
	update func(func(*bbolt.Tx) error) error // DB.Update, or DB.Batch, which joins calls
	buf    []byte
}

func newBolt(db *bbolt.DB, data *bench.Dataset, update func(func(*bbolt.Tx) error) error) *boltActor {
	return &boltActor{rows: rows{data: data}, db: db, update: update}
}

// load fills pages almost to the brim, as a compacted file has them.
func (a *boltActor) load() error {
	order := make([][]byte, a.data.Rows)
	number := make(map[string]int, a.data.Rows)
	for i := range order {
		order[i] = bytes.Clone(a.at(i))
		number[string(order[i])] = i
	}
	slices.SortFunc(order, bytes.Compare)
	for chunk := range slices.Chunk(order, loadRows) {
		err := a.write(false, func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			b.FillPercent = 0.9
			for _, key := range chunk {
				_, value := a.of(number[string(key)])
				if err := b.Put(key, bytes.Clone(value)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return a.db.Sync()
}

func (a *boltActor) Get(row int) error {
	return a.db.View(func(tx *bbolt.Tx) error { return a.look(tx.Bucket(bucket), row) })
}

func (a *boltActor) Miss(row int) error {
	return a.db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket(bucket).Get(a.at(row)) != nil {
			return errStored
		}
		return nil
	})
}

func (a *boltActor) MultiGet(rows []int) error {
	return a.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		for _, row := range rows {
			if err := a.look(b, row); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *boltActor) look(b *bbolt.Bucket, row int) error {
	v := b.Get(a.at(row))
	if v == nil {
		return errAbsent
	}
	if a.buf = append(a.buf[:0], v...); len(a.buf) != bench.ValueBytes {
		return errSize
	}
	return nil
}

func (a *boltActor) Put(row int) error        { return a.put(false, row, 1) }
func (a *boltActor) PutSynced(row int) error  { return a.put(true, row, 1) }
func (a *boltActor) Batch(first, n int) error { return a.put(false, first, n) }

func (a *boltActor) put(sync bool, first, n int) error {
	return a.write(sync, func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		for i := range n {
			key, value := a.of(first + i)
			if err := b.Put(key, bytes.Clone(value)); err != nil { // values must last as long as tx
				return err
			}
		}
		return nil
	})
}

// write sets whether the transaction is synced inside of it, where the lock of
// the one writer guards the field.
func (a *boltActor) write(sync bool, change func(*bbolt.Tx) error) error {
	return a.update(func(tx *bbolt.Tx) error {
		a.db.NoSync = !sync
		return change(tx)
	})
}

func (a *boltActor) Scan(row, n int) (count int, err error) {
	key := a.at(row)
	return a.iterate(key, engine.Successor(key[:bench.ContextBytes]), n)
}

func (a *boltActor) Walk() (int, error) { return a.iterate(nil, nil, a.data.Rows+1) }

// iterate reads from start until end; an end of nil is that of the bucket.
func (a *boltActor) iterate(start, end []byte, limit int) (n int, err error) {
	err = a.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		for k, v := c.Seek(start); k != nil && n < limit && (end == nil || bytes.Compare(k, end) < 0); k, v = c.Next() {
			if err := sized(k, v); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

func (a *boltActor) Release() error { return nil }
