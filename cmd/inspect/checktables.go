package inspect

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// tables checks every block of the tables of a directory by its checksum, without
// RocksDB: the iterators of some of its versions end without an error where the
// first block of a table cannot be read. What cannot be listed is RocksDB's to report.
func (v *verifier) tables() error {
	if v.source.dir == "" {
		return nil
	}
	m, err := diskfile.ReadManifest(v.source.dir)
	if err != nil {
		return nil
	}
	var buf []byte
	for _, id := range slices.Sorted(maps.Keys(m.Families)) {
		family := m.Families[id]
		for _, number := range slices.Sorted(maps.Keys(family.Tables)) {
			if buf, err = v.table(buf, family.Name, number); err != nil {
				return err
			}
			if err := v.ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// table checks one table. One that is gone was replaced by its owner since.
func (v *verifier) table(buf []byte, family string, number uint64) ([]byte, error) {
	path := diskfile.TablePath(v.source.dir, number)
	c, _ := column.Parse(family)
	t, err := diskfile.OpenListedTable(path)
	if errors.Is(err, fs.ErrNotExist) && v.source.Facts.How == Secondary {
		return buf, nil
	}
	if err != nil {
		return buf, v.found("table", c, nil, "%s: %s", filepath.Base(path), err)
	}
	defer t.Close()
	for _, unread := range t.Unread {
		if err := v.found("table", c, nil, "%s: %s", filepath.Base(path), unread); err != nil {
			return buf, err
		}
	}
	for i := range t.Blocks() {
		if buf, err = t.Check(buf, i); err != nil {
			if err := v.found("table", c, nil, "%s: block %d of %d: %s", filepath.Base(path), i+1, t.Blocks(), err); err != nil {
				return buf, err
			}
		}
	}
	return buf, nil
}
