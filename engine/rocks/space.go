package rocks

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine"
)

// How stale what is known of the disk's free space may be.
const (
	spaceEvery = 100 * time.Millisecond
	spaceBytes = 4 * mib
)

// space keeps a part of the disk free, so that a full disk refuses writes
// instead of breaking off flushes and compactions. It belongs to the committer.
type space struct {
	dir     string
	keep    int64 // bytes; not positive: none
	now     func() time.Time
	checked time.Time
	free    int64 // when checked
	written int64 // since
}

// admit returns ErrNoSpace if the changes of a batch would have to be written to
// what is to be kept free.
func (s *space) admit(ops []byte) error {
	if s.keep <= 0 {
		return nil
	}
	if now := s.now(); s.checked.IsZero() || s.written >= spaceBytes || now.Sub(s.checked) >= spaceEvery || now.Before(s.checked) {
		free, err := freeBytes(s.dir)
		if err != nil {
			return fmt.Errorf("engine: free space of %s: %w", s.dir, err)
		}
		s.free, s.written, s.checked = free, 0, now
	}
	left := s.free - s.written - int64(len(ops))
	if left >= s.keep || (left >= s.keep/4 && onlyDeletes(ops)) {
		s.written += int64(len(ops))
		return nil
	}
	return fmt.Errorf("%w: %s has %d MiB free, of which %d are kept; free some, or delete", engine.ErrNoSpace, s.dir, s.free/mib, s.keep/mib)
}

func onlyDeletes(ops []byte) bool {
	for op, err := range engine.Changes(ops) {
		if err != nil || op.Kind == engine.KindPut {
			return false
		}
	}
	return true
}

// openBytes is what opening for writing takes beside the tables that the log
// becomes: a new LOG, manifest and settings, and the room kept for LOG.
const openBytes = 4 * mib

// roomToOpen returns ErrNoSpace if the disk of dir has no room to open a store
// with so many bytes of write-ahead log for writing. RocksDB is not asked to
// try: builds with assertions end the process when LOG cannot be written.
func roomToOpen(dir string, log uint64) error {
	free, err := freeBytes(dir)
	if err != nil {
		return fmt.Errorf("engine: free space of %s: %w", dir, err)
	}
	if need := openBytes + int64(log); free < need {
		return fmt.Errorf("%w: %s has %d MiB free, and opening it for writing may take %d; nothing was changed; free some, or open read-only",
			engine.ErrNoSpace, dir, free/mib, (need+mib-1)/mib)
	}
	return nil
}

// freeBytes returns what a user without privileges may still write to the file
// system of dir.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(dir, &s)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		return int64(s.Bavail) * int64(s.Bsize), nil
	}
}

// isFull reports whether an error of the file system says that it is full.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// noSpace marks an error of a full disk.
func noSpace(err error) error {
	if isFull(err) && !errors.Is(err, engine.ErrNoSpace) {
		return fmt.Errorf("%w: %w", engine.ErrNoSpace, err)
	}
	return err
}
