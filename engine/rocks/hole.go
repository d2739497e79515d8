package rocks

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// holes are where the logs and the manifest end for a store, though more is behind:
// in what was not known to be on disk. A nil one is none.
type holes struct{ log, manifest *diskfile.Hole }

func (h holes) any() bool { return h.log != nil || h.manifest != nil }

// list returns the holes, the one that is to be settled first first.
func (h holes) list() (all []*diskfile.Hole) {
	for _, hole := range []*diskfile.Hole{h.log, h.manifest} {
		if hole != nil {
			all = append(all, hole)
		}
	}
	return all
}

// lengths returns how much of each file counts that does not count to its end.
func (h holes) lengths() map[string]int64 {
	m := map[string]int64{}
	for _, hole := range h.list() {
		m[filepath.Base(hole.Path)] = hole.Offset
		for _, later := range hole.Later {
			m[filepath.Base(later.Path)] = 0
		}
	}
	return m
}

// everything is what is covered where nothing says how little.
const everything = math.MaxUint64

// admitHole returns ErrCorrupt if a hole is in what was on disk: the chain ends before
// the sequence covered, or before a change that is in a table, or a log that was closed
// ends before what the manifest knows to have been on disk of it.
func admitHole(dir string, chain diskfile.Chain, m *diskfile.Manifest, covered uint64) error {
	if chain.Hole == nil {
		return nil
	}
	known := chain.Hole.Offset < int64(m.Logs[chain.Hole.Number])
	for _, later := range chain.Hole.Later {
		known = known || m.Logs[later.Number] > 0
	}
	why := fmt.Sprintf("in what was on disk, which goes up to sequence %d", max(covered, m.Tabled()))
	switch {
	case chain.Last >= covered && chain.Last >= m.Tabled() && !known:
		return nil
	case known:
		why = "in what was on disk, as its manifest knows"
	case covered == everything:
		why = "and nothing says how much of it was on disk"
	}
	return fmt.Errorf("%w: the log of %s is damaged %s: %s; nothing was changed; %s",
		engine.ErrCorrupt, dir, why, chain.Hole, salvageHint(dir))
}

// admitManifestHole is admitHole for a manifest that was read up to its hole. What it
// lists must be there: a table is deleted only after a record that says so is on disk.
func admitManifestHole(dir string, m *diskfile.Manifest) error {
	for _, f := range m.Families {
		for number := range f.Tables {
			path := diskfile.TablePath(dir, number)
			if _, err := os.Lstat(path); err != nil {
				return fmt.Errorf("%w: the manifest of %s is damaged in what was on disk, since %s, which it lists before that, is gone: %s; nothing was changed; %s",
					engine.ErrCorrupt, dir, filepath.Base(path), m.Hole, salvageHint(dir))
			}
		}
	}
	return nil
}

// leavePrefix begins the names of the files that keep what was left.
const leavePrefix = "stoa.left-"

// Kept returns the names of the files of dir that keep what was behind holes when the
// store was opened. Nothing reads them but people, by `stoa wal dump`.
func Kept(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // where it cannot be read, more than this is said
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), leavePrefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// leave ends the files of a store before its holes, after it has put what is behind
// them, unless it was refused, into files of their own, and returns their names. A crash in the middle leaves
// the holes, or nothing of them. The caller has the lock of the directory.
func (h holes) leave(dir string) (kept []string, err error) {
	for _, hole := range h.list() {
		names, err := leave(dir, hole)
		if err != nil {
			return nil, fmt.Errorf("engine: open %s: leave what is behind a hole: %w", dir, noSpace(err))
		}
		kept = append(kept, names...)
	}
	return kept, nil
}

func leave(dir string, hole *diskfile.Hole) (kept []string, err error) {
	if !hole.Refused { // else nobody is to have it
		name := leavePrefix + filepath.Base(hole.Path)
		if err := copyTail(hole.Path, filepath.Join(dir, name), hole.Offset); err != nil {
			return nil, err
		}
		kept = append(kept, name)
	}
	for _, later := range slices.Backward(hole.Later) { // what is left of a crash still has its gap
		name := leavePrefix + filepath.Base(later.Path)
		if err := os.Rename(later.Path, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		kept = append(kept, name)
	}
	if err := syncDir(dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(hole.Path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(hole.Offset)
	if err == nil {
		err = f.Sync()
	}
	return kept, errors.Join(err, f.Close())
}

// copyTail copies a file, from the beginning of the block of a log that a place is in,
// so that the copy is a log too. It returns when the copy is on disk, but for its name.
func copyTail(path, to string, at int64) (err error) {
	from, err := diskfile.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := from.Seek(diskfile.BlockStart(at), io.SeekStart); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// takeLock takes the lock that RocksDB has while it has a store open for writing.
func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("engine: open: %w", err)
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock); err != nil {
		return nil, errors.Join(lockHolder(dir), f.Close())
	}
	return f, nil
}
