//go:build cgo

package rocks

import (
	"fmt"

	"github.com/linxGnu/grocksdb"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// emptyFamilies returns ErrSchema if one of the column families of dir has a row. It looks
// without RocksDB, and writes nothing.
func emptyFamilies(dir string, names []string) error {
	r, err := diskfile.OpenReader(dir)
	if err != nil {
		return fmt.Errorf("%w: whether column families of %s have rows cannot be told: %w; nothing was changed", engine.ErrCorrupt, dir, err)
	}
	for _, name := range names {
		for row, err := range r.Rows(name, nil, nil) {
			if err != nil {
				return fmt.Errorf("%w: whether the column family %q of %s has rows cannot be told: %w; nothing was changed", engine.ErrCorrupt, name, dir, err)
			}
			return fmt.Errorf("%w: %s has the column family %q, which schema version %d does not know, and it has rows, the first under a key of %d bytes; nothing was changed; "+
				"open read-only to look at the rest", engine.ErrSchema, dir, name, SchemaVersion, len(row.Key))
		}
	}
	return nil
}

// dropForeign drops the column families that are no columns, which have no rows.
func (st *store) dropForeign() error {
	for _, family := range st.foreign {
		if err := st.dropEmpty(family); err != nil {
			return fmt.Errorf("drop the column family %q: %w", family.Name(), err)
		}
	}
	st.foreign = nil
	return nil
}

func (st *store) dropEmpty(family *grocksdb.ColumnFamilyHandle) error {
	opts := grocksdb.NewDefaultReadOptions()
	defer opts.Destroy()
	it := st.db.NewIteratorCF(opts, family)
	defer it.Close()
	it.SeekToFirst()
	if err := it.Err(); err != nil {
		return err
	}
	if it.Valid() {
		return fmt.Errorf("%w: it has rows", engine.ErrSchema)
	}
	return st.db.DropColumnFamily(family)
}
