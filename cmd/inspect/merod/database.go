package merod

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// Database is the database of a merod, opened for reading. It is safe for concurrent use.
type Database struct {
	// Where is its directory.
	Where string
	// Newest is the day of the newest merod that has opened it, as far as its column families
	// tell; "" if they are those that have always been.
	Newest string
	r      *diskfile.Reader
}

// leastFamilies is how many column families of merod a directory has at least: those that
// there have always been.
var leastFamilies = slices.DeleteFunc(slices.Clone(layouts.families), func(f string) bool { return layouts.since[f] != "" })

// storeMark is a row that every store of stoa has, in the family default.
const storeMark = "stoa.schema"

// Open opens the directory of a database, or the home of a merod, which has it in data; no merod
// may have it open. It returns
// engine.ErrNotDatabase for what is none, engine.ErrCorrupt for one that cannot be read whole.
// Its memory is that of what is in the write-ahead log.
func Open(dir string) (*Database, error) {
	dir = Directory(dir)
	if _, err := os.Stat(filepath.Join(dir, current)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %s has no file CURRENT, as every directory of RocksDB has; that of merod is data in its home", engine.ErrNotDatabase, dir)
		}
		return nil, err
	}
	r, err := diskfile.OpenReader(dir)
	if err != nil {
		return nil, damaged(dir, err)
	}
	d := &Database{Where: dir, r: r}
	for _, f := range leastFamilies {
		if !slices.Contains(d.Families(), f) {
			return nil, fmt.Errorf("%w: %s is a RocksDB database, but not one of merod: it has no column family %s", engine.ErrNotDatabase, dir, f)
		}
	}
	for row, err := range r.Rows("default", []byte(storeMark), []byte(storeMark+"\x00")) {
		if err == nil && string(row.Key) == storeMark {
			err = fmt.Errorf("%w: %s is a store of stoa, not a database of merod", engine.ErrNotDatabase, dir)
		}
		return nil, damaged(dir, err)
	}
	for _, f := range d.Families() {
		d.Newest = max(d.Newest, layouts.since[f])
	}
	return d, nil
}

// current is a file that every directory of RocksDB has.
const current = "CURRENT"

// Directory returns the directory of the database of a home; of what is none, dir.
func Directory(dir string) string {
	if inside := filepath.Join(dir, "data"); !isDatabase(dir) && isDatabase(inside) {
		return inside
	}
	return dir
}

func isDatabase(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, current))
	return err == nil
}

// damaged says that a directory cannot be read, if that is why.
func damaged(dir string, err error) error {
	switch {
	case errors.Is(err, diskfile.ErrFormat):
		return fmt.Errorf("%w: %s: %w", engine.ErrNotDatabase, dir, err)
	case errors.Is(err, diskfile.ErrDamaged):
		return fmt.Errorf("%w: %s: %w", engine.ErrCorrupt, dir, err)
	}
	return err
}

// Families returns the names of its column families, those that are known first, in the order
// in which merod has them.
func (d *Database) Families() []string {
	there := d.r.Families()
	var names []string
	for _, f := range layouts.families {
		if slices.Contains(there, f) {
			names = append(names, f)
		}
	}
	for _, f := range there {
		if !slices.Contains(names, f) && f != "default" {
			names = append(names, f)
		}
	}
	return names
}

// Rows yields the rows of a family in the bounds of r, in order. A row is valid until the next
// one. An error, engine.ErrCorrupt where it is damage, ends it.
func (d *Database) Rows(family string, r engine.Range) iter.Seq2[diskfile.Row, error] {
	return func(yield func(diskfile.Row, error) bool) {
		for row, err := range d.r.Rows(family, r.Start, r.End) {
			if err != nil {
				yield(row, damaged(d.Where, fmt.Errorf("%s: %w", family, err)))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}
