package rocks

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stoadb/stoa/engine"
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
	// Hole is where the manifest ends, though more is behind it that was not known to be
	// on disk and does not count; nil: it has none.
	Hole *diskfile.Hole
	// Strays are tables that it must have listed.
	Strays []diskfile.Stray
	// Logs are those that it knows to have been longer.
	Logs []diskfile.CutLog
	// Damaged are logs with something in them that no store writes.
	Damaged []diskfile.DamagedLog
	// Unread are tables of which more than rows cannot be read.
	Unread []diskfile.DamagedTable
	// Chain is how far the logs go without a hole. Where the manifest lacks something, or
	// a log does, nobody knows where they begin, and it is empty.
	Chain diskfile.Chain
}

// List reads the manifest of dir, which no process may have open for writing, and
// looks for what it lacks. It returns an error if the manifest cannot be read to
// its end; Manifest is then what was found. RocksDB is not used.
func List(dir string) (Listing, error) {
	w, _ := readWatermark(dir) // a problem is reported where the watermark is used
	return listTables(dir, w.manifest, 0)
}

func listTables(dir string, mark manifestMark, until uint64) (l Listing, err error) {
	if l.Manifest, err = diskfile.ReadManifest(dir); l.Manifest.Hole != nil && !mark.covers(l.Manifest) {
		if l.Manifest, err = diskfile.ReadManifestToHole(dir); err == nil {
			l.Hole, err = l.Manifest.Hole, admitManifestHole(dir, l.Manifest)
		}
	}
	if err != nil {
		return l, err
	}
	if err := mark.admitOlder(dir, l.Manifest); err != nil {
		return l, err
	}
	l.Cut = mark.lackOf(l.Manifest)
	if l.Strays, err = l.Manifest.Strays(dir); err != nil {
		return l, err
	}
	if l.Logs, l.Damaged, err = l.Manifest.CheckLogs(dir); err != nil {
		return l, err
	}
	if l.Unread, err = l.Manifest.CheckTables(dir); err != nil {
		return l, err
	}
	if l.Cut == "" && len(l.Strays) == 0 && len(l.Logs) == 0 {
		l.Chain, err = l.Manifest.Chain(dir, until)
	}
	return l, err
}

// unfit says, for people, what RocksDB is not to be asked about: places of the
// manifest, of the logs and of the tables of dir that no store writes. Some of its
// versions look for ever for the end of such a thing, or end the process, for one flipped
// bit.
func (l *Listing) unfit(err error) (places []string) {
	var damage *diskfile.Damage
	if errors.As(err, &damage) {
		places = append(places, fmt.Sprintf("MANIFEST-%06d is damaged at byte %d: %s", l.Manifest.Number, damage.Offset, damage.Reason))
	}
	for _, log := range l.Damaged {
		places = append(places, log.String())
	}
	for _, table := range l.Unread {
		places = append(places, table.String())
	}
	return places
}

// manifestMark is how much of a manifest is known to be on disk. The zero
// manifestMark is nothing.
type manifestMark struct {
	number uint64 // of the manifest
	bytes  uint64 // up to the end of a record
}

// covers reports whether the hole of m is in what was on disk. Where nothing says what
// was, that is so unless m lists no table before it: then it is of a store that was
// about to be made.
func (mark manifestMark) covers(m *diskfile.Manifest) bool {
	switch mark.number {
	case 0:
		return m.Tabled() > 0
	case m.Number:
		return uint64(m.Hole.Offset) < mark.bytes
	}
	return m.Number < mark.number
}

// admitOlder returns ErrCorrupt if CURRENT names a manifest that is not there, and the one
// before it, m, does not hold what was on disk: the newer one was in use. Where nothing
// says what was, that is so if m lists a table.
func (mark manifestMark) admitOlder(dir string, m *diskfile.Manifest) error {
	if m.Number == m.Named || mark.number != 0 && mark.number <= m.Number || mark.number == 0 && m.Tabled() == 0 {
		return nil
	}
	return fmt.Errorf("%w: CURRENT of %s names MANIFEST-%06d, which is not there; nothing was changed; %s", engine.ErrCorrupt, dir, m.Named, salvageHint(dir))
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
	path, number, err := diskfile.CurrentManifest(dir) // which is there: the store is open
	if err != nil {
		return was, err
	}
	f, err := diskfile.Open(path)
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
