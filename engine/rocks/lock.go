package rocks

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// lockName is the file that RocksDB locks with fcntl while it has a directory
// open for writing.
const lockName = "LOCK"

// CheckLock returns engine.ErrLocked, with its number, if a process has the store
// in dir open for writing. It looks only, and knows only on Linux.
func CheckLock(dir string) error { return checkLock(dir) }

// checkLock returns ErrLocked if a process holds dir, before RocksDB is asked:
// it would first set its LOG aside. It looks in /proc, since opening and closing
// the file would give up a lock of this process; elsewhere RocksDB decides.
func checkLock(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, lockName), &st); err != nil {
		return nil // no lock, or no way to tell
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return nil
	}
	defer f.Close()
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	for s := bufio.NewScanner(f); s.Scan(); {
		// 1: POSIX  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
		fields := strings.Fields(s.Text())
		if len(fields) >= 6 && fields[1] == "POSIX" && fields[5] == file {
			pid, _ := strconv.Atoi(fields[4])
			return lockedBy(dir, pid)
		}
	}
	return nil
}

// lockHolder returns ErrLocked for a directory of which RocksDB said that
// another process holds it, and asks the system which. This process has no lock
// there to give up.
func lockHolder(dir string) error {
	f, err := diskfile.Open(filepath.Join(dir, lockName))
	if err != nil {
		return lockedBy(dir, 0)
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return lockedBy(dir, 0)
	}
	return lockedBy(dir, int(lock.Pid))
}

func lockedBy(dir string, pid int) error {
	switch {
	case pid == os.Getpid():
		return fmt.Errorf("%w: %s is open in this process already", engine.ErrLocked, dir)
	case pid > 0:
		return fmt.Errorf("%w: process %d has %s open; ask it, stop it, or open read-only", engine.ErrLocked, pid, dir)
	}
	return fmt.Errorf("%w: another process has %s open; ask it, stop it, or open read-only", engine.ErrLocked, dir)
}
