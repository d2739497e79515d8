package diskfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// DamagedTable is a table whose footer, properties or deletions of ranges are not what
// the store has written. One flipped bit of them makes a build of RocksDB with assertions
// end the process: the footer, which has no checksum, may say that blocks are of a format
// that they are not, and the properties, which are taken apart before their checksum is
// looked at, that they have a hash index.
type DamagedTable struct {
	File
	Err error
}

// String says what it is, for people.
func (d DamagedTable) String() string {
	return fmt.Sprintf("%s is damaged: %s", filepath.Base(d.Path), d.Err)
}

// CheckTables reads the end of the tables of dir that m lists, and returns those that are
// damaged there. Those that are not there, or have no end at all, RocksDB reports, and so
// it does with an index or rows that are damaged, which are not read.
func (m *Manifest) CheckTables(dir string) (damaged []DamagedTable, err error) {
	for _, id := range slices.Sorted(maps.Keys(m.Families)) {
		for _, number := range slices.Sorted(maps.Keys(m.Families[id].Tables)) {
			file := File{TablePath(dir, number), number}
			err := checkParts(file.Path)
			switch {
			case errors.Is(err, ErrDamaged):
				damaged = append(damaged, DamagedTable{file, err})
			case err != nil && !errors.Is(err, fs.ErrNotExist): // its owner has deleted it meanwhile
				return nil, err
			}
		}
	}
	return damaged, nil
}

// checkParts returns what of a table beside its rows, its filter and its index cannot be
// read. A table whose list of parts has not the checksum that package rocks would give
// it is of another writer.
func checkParts(path string) error {
	t, err := openTable(path, new(Allowance), (*Table).readParts)
	if err != nil {
		return err
	}
	return t.Close()
}

func (t *Table) readParts() error {
	b, err := t.end()
	if errors.Is(err, ErrDamaged) {
		return nil
	} else if err != nil {
		return err
	}
	foot, strange := parseFooter(b, t.size-footerSize)
	switch {
	case strange == nil:
		t.foot = foot
	case !errors.Is(strange, ErrFormat):
		return nil // RocksDB says that it is none
	default:
		meta, _, ok := cutHandle(b[1:])
		if !ok {
			return nil
		}
		if _, err := t.block(meta); err != nil {
			return nil // it is no table of ours
		}
		t.foot.meta = meta
		t.unread("its footer", strange)
	}
	err = t.readMeta(t.foot.meta)
	return errors.Join(append(t.Unread, err)...)
}
