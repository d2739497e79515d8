//go:build cgo

package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/linxGnu/grocksdb"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
)

const cacheBytes = 2 << 30 // all rows and then some

// openRocks fills one store and opens copies of it: with the engine, typed and
// raw, with a bare loop over grocksdb, and in a daemon.
func openRocks(o Options, data *Dataset) ([]*Subject, error) {
	e, err := rocks.Open(o.path("rocks"), rocks.Options{CacheBytes: int64(cacheBytes)})
	if err != nil {
		return nil, err
	}
	if err := fillRocks(o, e, data); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	subjects := []*Subject{
		{Name: "rocks", Typed: true, Dir: o.path("rocks"), Close: e.Close, Settle: e.Flush, Actor: func() (Actor, error) { return hands{&typed{raw{db: e, data: data}}, newMetas(e)}, nil }},
		{Name: "rocks-raw", Typed: true, Close: func() error { return nil }, Settle: e.Flush, Actor: func() (Actor, error) {
			m, err := newRawMetas(e)
			return hands{&raw{db: e, data: data}, m}, err
		}},
	}
	compiled, err := openCompiled(o, data)
	subjects = append(subjects, compiled...)
	if err != nil {
		return subjects, err
	}
	direct, err := openDirect(o, data, cacheBytes)
	subjects = append(subjects, direct...)
	if err != nil {
		return subjects, err
	}
	kept, err := openKept(o, data)
	subjects = append(subjects, kept...)
	if err != nil {
		return subjects, err
	}
	served, err := openServed(o, data)
	return append(subjects, served...), err
}

// openKept opens a copy of the store with a row cache, as a daemon does.
func openKept(o Options, data *Dataset) ([]*Subject, error) {
	e, err := rocks.Open(o.path("kept"), rocks.Options{CacheBytes: cacheBytes, RowCacheBytes: cacheBytes / 4})
	if err != nil {
		return nil, err
	}
	return []*Subject{{Name: "rocks-rows", Typed: true, Close: e.Close, Settle: e.Flush,
		Actor: func() (Actor, error) { return hands{&raw{db: e, data: data}, newMetas(e)}, nil }}}, nil
}

func fillRocks(o Options, e *rocks.Engine, data *Dataset) error {
	o.Logger.Info("filling", "rows", data.Rows)
	if err := errors.Join(data.load(e), loadMeta(e)); err != nil {
		return err
	}
	if err := errors.Join(e.Compact(column.State, engine.Range{}), e.Compact(column.Meta, engine.Range{})); err != nil {
		return err
	}
	for _, name := range []string{"compiled", "system", "rust", "grocksdb", "kept", "served"} {
		if err := e.Checkpoint(o.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// OpenStore opens the store in a directory, made if it is not there, with a cache of that size: with the
// engine, or with a bare loop over grocksdb that has the options which the engine wrote there.
func OpenStore(o Options, data *Dataset, bare bool, cacheBytes uint64) (*Subject, error) {
	if bare {
		s, err := openDirect(o, data, cacheBytes)
		if err != nil {
			return nil, err
		}
		return s[0], nil
	}
	e, err := rocks.Open(o.path("grocksdb"), rocks.Options{CacheBytes: int64(cacheBytes)})
	if err != nil {
		return nil, err
	}
	return &Subject{Name: "rocks", Dir: o.path("grocksdb"), Close: e.Close, Settle: e.Flush,
		Actor: func() (Actor, error) { return &raw{db: e, data: data}, nil }}, nil
}

// direct is the loop that somebody would write over grocksdb itself.
type direct struct {
	db          *grocksdb.DB
	cf          *grocksdb.ColumnFamilyHandle
	read        *grocksdb.ReadOptions
	wal, synced *grocksdb.WriteOptions
	data        *Dataset
	key         []byte
	value       [ValueBytes]byte
	buf         []byte
	pages       [][]byte
	changes     *grocksdb.WriteBatch

	metaBytes
	meta *grocksdb.ColumnFamilyHandle
}

// openDirect opens a checkpoint with the options that the engine wrote there.
func openDirect(o Options, data *Dataset, cacheBytes uint64) ([]*Subject, error) {
	dir := o.path("grocksdb")
	cache := grocksdb.NewLRUCache(cacheBytes)
	latest, err := grocksdb.LoadLatestOptions(dir, grocksdb.NewDefaultEnv(), false, cache)
	if err != nil {
		return nil, err
	}
	names := latest.ColumnFamilyNames()
	families := latest.ColumnFamilyOpts()
	options := make([]*grocksdb.Options, len(families))
	for i := range families {
		options[i] = &families[i]
		options[i].SetBlockBasedTableFactory(tableOptions(cache))
	}
	database, err := databaseOptions(dir)
	if err != nil {
		return nil, err
	}
	shared, err := grocksdb.GetOptionsFromString(options[0], database)
	if err != nil {
		return nil, err
	}
	db, handles, err := grocksdb.OpenDbColumnFamilies(shared, dir, names, options)
	if err != nil {
		return nil, err
	}
	state, meta := handles[slices.Index(names, column.State.String())], handles[slices.Index(names, column.Meta.String())]
	return []*Subject{{
		Name: "grocksdb", Typed: true,
		Settle: func() error {
			o := grocksdb.NewDefaultFlushOptions()
			defer o.Destroy()
			return errors.Join(db.FlushCF(state, o), db.FlushCF(meta, o))
		},
		Close: func() error {
			for _, h := range handles {
				h.Destroy()
			}
			db.Close()
			return nil
		},
		Actor: func() (Actor, error) {
			d := &direct{db: db, cf: state, data: data, read: grocksdb.NewDefaultReadOptions(), changes: grocksdb.NewWriteBatch(),
				wal: grocksdb.NewDefaultWriteOptions(), synced: grocksdb.NewDefaultWriteOptions()}
			d.synced.SetSync(true)
			d.meta = meta
			var err error
			d.metaBytes, err = metaRows()
			return d, err
		},
	}}, nil
}

// tableOptions are those of engine/rocks. The library does not load its own
// filters again from an options file.
func tableOptions(cache *grocksdb.Cache) *grocksdb.BlockBasedTableOptions {
	t := grocksdb.NewDefaultBlockBasedTableOptions()
	t.SetBlockCache(cache)
	t.SetFilterPolicy(grocksdb.NewBloomFilterFull(10))
	t.SetWholeKeyFiltering(true)
	t.SetFormatVersion(5)
	t.SetCacheIndexAndFilterBlocks(true)
	t.SetCacheIndexAndFilterBlocksWithHighPriority(true)
	t.SetPinL0FilterAndIndexBlocksInCache(true)
	return t
}

// databaseOptions returns the options of the database as a whole that weigh on
// the workloads, which grocksdb loads and does not hand out, from the newest
// options file of dir.
func databaseOptions(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		return "", errors.Join(fmt.Errorf("bench: no options file in %s", dir), err)
	}
	text, err := os.ReadFile(files[len(files)-1])
	var set []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch name, _, _ := strings.Cut(line, "="); name {
		case "max_background_jobs", "bytes_per_sync", "max_total_wal_size", "db_write_buffer_size", "max_open_files":
			set = append(set, line)
		}
	}
	return strings.Join(set, ";"), err
}

func (d *direct) at(row int) []byte {
	d.key, _ = d.data.Key(row).AppendBinary(d.key[:0])
	return d.key
}

func (d *direct) lookup(cf *grocksdb.ColumnFamilyHandle, key []byte, size int) error {
	v, err := d.db.GetPinnedCF(d.read, cf, key)
	if err != nil {
		return err
	}
	defer v.Destroy()
	if !v.Exists() {
		return engine.ErrNotFound
	}
	d.buf = append(d.buf[:0], v.Data()...)
	return expect(len(d.buf) == size, nil)
}

func (d *direct) Get(row int) error  { return d.lookup(d.cf, d.at(row), ValueBytes) }
func (d *direct) Miss(row int) error { return expectMissing(d.lookup(d.cf, d.at(row), ValueBytes)) }

func (d *direct) GetMeta(i int) error { return d.lookup(d.meta, d.keys[i], len(d.values[i])) }

func (d *direct) WriteMeta(first, n int) error {
	d.changes.Clear()
	for i := first; i < first+n; i++ {
		d.touch(i)
		if n == 1 {
			return d.db.PutCF(d.wal, d.meta, d.keys[i], d.values[i])
		}
		d.changes.PutCF(d.meta, d.keys[i], d.values[i])
	}
	return d.db.Write(d.wal, d.changes)
}

func (d *direct) ScanMeta(i, n int) (int, error) {
	read := grocksdb.NewDefaultReadOptions()
	defer read.Destroy()
	read.SetTotalOrderSeek(true)
	return d.iterate(read, d.meta, d.keys[i], n, len(d.keys[i]), len(d.values[i]))
}

func (d *direct) MultiGet(rows []int) error {
	if d.pages == nil {
		d.pages = make([][]byte, len(rows))
	}
	for i, row := range rows {
		d.pages[i], _ = d.data.Key(row).AppendBinary(d.pages[i][:0])
	}
	found, err := d.db.MultiGetCF(d.read, d.cf, d.pages...)
	if err != nil {
		return err
	}
	defer found.Destroy()
	for _, s := range found {
		if s.Size() != ValueBytes {
			return errors.New("a value of another size")
		}
	}
	return nil
}

func (d *direct) Put(row int) error {
	d.data.Fill(d.value[:], row)
	return d.db.PutCF(d.wal, d.cf, d.at(row), d.value[:])
}

func (d *direct) PutSynced(row int) error {
	d.data.Fill(d.value[:], row)
	return d.db.PutCF(d.synced, d.cf, d.at(row), d.value[:])
}

func (d *direct) Batch(first, n int) error {
	d.changes.Clear()
	for i := range n {
		d.data.Fill(d.value[:], first+i)
		d.changes.PutCF(d.cf, d.at(first+i), d.value[:])
	}
	return d.db.Write(d.wal, d.changes)
}

func (d *direct) Scan(row, n int) (int, error) {
	key := d.at(row)
	read := grocksdb.NewDefaultReadOptions()
	defer read.Destroy()
	read.SetIterateUpperBound(engine.Successor(key[:ContextBytes]))
	return d.iterate(read, d.cf, key, n, KeyBytes, ValueBytes)
}

func (d *direct) Walk() (int, error) {
	read := grocksdb.NewDefaultReadOptions()
	defer read.Destroy()
	read.SetTotalOrderSeek(true)
	return d.iterate(read, d.cf, nil, 0, KeyBytes, ValueBytes)
}

func (d *direct) iterate(read *grocksdb.ReadOptions, cf *grocksdb.ColumnFamilyHandle, start []byte, limit, keySize, valueSize int) (n int, err error) {
	it := d.db.NewIteratorCF(read, cf)
	defer it.Close()
	if start == nil {
		it.SeekToFirst()
	} else {
		it.Seek(start)
	}
	for ; it.Valid() && (limit == 0 || n < limit); it.Next() {
		k, v := it.Key(), it.Value()
		if k.Size() != keySize || v.Size() != valueSize {
			err = errors.New("an entry of another size")
		}
		n++
	}
	return n, errors.Join(err, it.Err())
}

func (d *direct) Release() error {
	d.changes.Destroy()
	d.read.Destroy()
	d.wal.Destroy()
	d.synced.Destroy()
	return nil
}
