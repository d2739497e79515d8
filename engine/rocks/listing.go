package rocks

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// Listing is which tables a directory has, as far as its manifest tells. RocksDB
// takes a manifest that ends too early for a whole one: it forgets tables, whose
// logs are gone, and deletes them when it opens the directory for writing.
type Listing struct {
	Manifest *diskfile.Manifest
	// Cut says, for people, what the manifest lacks of what it had on disk. "": that
	// is not known to lack anything.
	Cut string
	// Strays are tables that it must have listed.
	Strays []diskfile.Stray
	// Logs are those that it knows to have been longer.
	Logs []diskfile.CutLog
}

// List reads the manifest of dir, which no process may have open for writing, and
// looks for what it lacks. It returns an error if the manifest cannot be read to
// its end; Manifest is then what was found. RocksDB is not used.
func List(dir string) (Listing, error) {
	w, _ := readWatermark(dir) // a problem is reported where the watermark is used
	return listTables(dir, w.manifest)
}

func listTables(dir string, mark manifestMark) (l Listing, err error) {
	if l.Manifest, err = diskfile.ReadManifest(dir); err != nil {
		return l, err
	}
	l.Cut = mark.lackOf(l.Manifest)
	if l.Strays, err = l.Manifest.Strays(dir); err != nil {
		return l, err
	}
	l.Logs, err = l.Manifest.CutLogs(dir)
	return l, err
}

// manifestMark is how much of a manifest is known to be on disk. The zero
// manifestMark is nothing.
type manifestMark struct {
	number uint64 // of the manifest
	bytes  uint64 // up to the end of a record
}

// lackOf says what m lacks of what was on disk.
func (mark manifestMark) lackOf(m *diskfile.Manifest) string {
	switch {
	case m.Number < mark.number:
		return fmt.Sprintf("CURRENT names MANIFEST-%06d, and had named MANIFEST-%06d", m.Number, mark.number)
	case m.Number == mark.number && uint64(m.End) < mark.bytes:
		return fmt.Sprintf("MANIFEST-%06d ends at byte %d, and had %d bytes on disk", m.Number, m.End, mark.bytes)
	}
	return ""
}

// markManifest returns how much of the manifest of dir is on disk, after it has
// put there what was not. was is what an earlier call has returned.
func markManifest(dir string, was manifestMark) (manifestMark, error) {
	path, number, err := diskfile.CurrentManifest(dir)
	if err != nil {
		return was, err
	}
	f, err := os.Open(path)
	if err != nil {
		return was, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return was, err
	}
	from := int64(0)
	if number == was.number {
		from = int64(was.bytes)
	}
	if from == st.Size() {
		return was, nil
	}
	if err := f.Sync(); err != nil {
		return was, fmt.Errorf("sync %s: %w", filepath.Base(path), err)
	}
	end, err := diskfile.Boundary(f, from, st.Size())
	return manifestMark{number, uint64(end)}, err
}
