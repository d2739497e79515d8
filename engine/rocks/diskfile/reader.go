package diskfile

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"sort"
)

// Reader reads the rows of a directory without RocksDB, and without writing anything to it:
// those of the tables that its manifest lists and of its logs, as RocksDB would open it. It
// is strict: what is damaged is an error. The last log may end within a record, as a kill
// leaves it. Nobody may write to the directory meanwhile.
//
// Its memory is that of what the logs have written, and of one block of each table of a
// family that is read. It is safe for concurrent use.
type Reader struct {
	dir      string
	families map[string]*readFamily
}

type readFamily struct {
	tables []uint64
	logged Logged
}

// Row is a row of a column family.
type Row struct{ Key, Value []byte }

// OpenReader opens a directory. It returns ErrDamaged for one that cannot be read whole;
// ErrFormat for one in a format that this build does not read.
func OpenReader(dir string) (*Reader, error) {
	m, err := ReadManifest(dir)
	if err == nil && m.Hole != nil {
		err = fmt.Errorf("%w: the manifest: %s", ErrDamaged, m.Hole)
	}
	if err != nil {
		return nil, err
	}
	r := &Reader{dir: dir, families: map[string]*readFamily{}}
	for _, f := range m.Families {
		r.families[f.Name] = &readFamily{tables: slices.Sorted(maps.Keys(f.Tables))}
	}
	if err := r.readLogs(m); err != nil {
		return nil, err
	}
	return r, nil
}

// Families returns the names of the column families, in order.
func (r *Reader) Families() []string { return slices.Sorted(maps.Keys(r.families)) }

func (r *Reader) readLogs(m *Manifest) error {
	logs, err := Files(r.dir, ".log")
	if err != nil {
		return err
	}
	for i, file := range logs {
		if err := r.readLog(m, file, i == len(logs)-1); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file.Path), err)
		}
	}
	return nil
}

// readLog reads one log. Only the last one may end within a record.
func (r *Reader) readLog(m *Manifest, file File, last bool) error {
	f, err := Open(file.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	for rec, err := range Log(f) {
		var damage *Damage
		if errors.As(err, &damage) && damage.Cut() && last {
			return nil
		}
		if err != nil {
			return err
		}
		batch, err := ParseBatch(rec.Data)
		if err != nil {
			return err
		}
		for c, err := range batch.Changes {
			if err != nil {
				return err
			}
			if f := m.Families[c.Family]; f != nil && file.Number >= f.Log { // else it was dropped, or is in a table
				r.families[f.Name].logged.Add(c)
			}
		}
	}
	return nil
}

// Rows yields the rows of a family from the key start on, in order, up to and without end;
// nil is no bound. A row is valid until the next one. An error ends it.
func (r *Reader) Rows(family string, start, end []byte) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		f := r.families[family]
		if f == nil {
			yield(Row{}, fmt.Errorf("diskfile: there is no column family %q", family))
			return
		}
		w := &walk{start: start}
		defer w.close()
		runs, deletes := []Run{&boundRun{Run: f.logged.Run(), start: start}}, slices.Clone(f.logged.Deletes)
		for _, number := range f.tables {
			t, err := OpenListedTable(TablePath(r.dir, number))
			if err == nil {
				w.tables = append(w.tables, t)
				err = errors.Join(t.Unread...)
			}
			if err != nil {
				yield(Row{}, fmt.Errorf("%06d.sst: %w", number, err))
				return
			}
			deletes = append(deletes, t.Deletes...)
			runs = append(runs, &boundRun{Run: newTableRun(w, t), start: start})
		}
		r.merge(w, NewMerge(runs, deletes), end, yield)
	}
}

func (r *Reader) merge(w *walk, m *Merge, end []byte, yield func(Row, error) bool) {
	for {
		c, ok := m.Next()
		switch {
		case w.err != nil:
			yield(Row{}, w.err)
			return
		case !ok, end != nil && bytes.Compare(c.Key, end) >= 0:
			return
		}
		if c.Blob {
			v, err := BlobValue(r.dir, c.Key, c.Value)
			if err != nil {
				yield(Row{}, err)
				return
			}
			c.Value = v
		}
		if !yield(Row{c.Key, c.Value}, nil) {
			return
		}
	}
}

// walk is one walk over a family. The first error of a run ends it.
type walk struct {
	start  []byte
	tables []*Table
	err    error
}

func (w *walk) close() {
	for _, t := range w.tables {
		t.Close()
	}
}

// boundRun is a run without what is before start.
type boundRun struct {
	Run
	start []byte
}

// Ready reports whether there is one more.
func (r *boundRun) Ready() bool {
	for r.Run.Ready() {
		if r.start == nil || bytes.Compare(r.Head().Key, r.start) >= 0 {
			r.start = nil
			return true
		}
		r.Pass()
	}
	return false
}

// tableRun is the changes of a table, block by block.
type tableRun struct {
	sliceRun
	w     *walk
	table *Table
	block int // the next one
	// The changes of a block, their keys, and the block: space for those of the next one.
	all        []Change
	keys, held []byte
}

// newTableRun begins with the block that the first key of w may be in.
func newTableRun(w *walk, t *Table) *tableRun {
	first := sort.Search(t.Blocks(), func(i int) bool { return bytes.Compare(t.End(i), w.start) >= 0 })
	return &tableRun{w: w, table: t, block: first}
}

// Ready reports whether there is one more, after reading blocks until there is.
func (r *tableRun) Ready() bool {
	for len(r.changes) == 0 && r.w.err == nil && r.block < r.table.Blocks() {
		r.all, r.keys = r.all[:0], r.keys[:0]
		var err error
		r.held, err = r.table.readIn(r.held, r.block, func(c Change) error {
			r.keys = append(r.keys, c.Key...) // where it was before is kept by the keys that are there, if it moves
			c.Key = r.keys[len(r.keys)-len(c.Key) : len(r.keys) : len(r.keys)]
			r.all = append(r.all, c)
			return nil
		})
		r.changes = r.all
		if err != nil {
			r.w.err = fmt.Errorf("%s: %w", r.table.Name(), err)
			return false
		}
		r.block++
	}
	return len(r.changes) > 0
}
