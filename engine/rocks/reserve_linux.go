package rocks

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// infoLogName is the file in which RocksDB says what it does.
const infoLogName = "LOG"

// logReserve is how much room RocksDB's LOG has ahead of it. Builds of RocksDB
// with assertions, as Debian's, end the process at the second line that they
// cannot write there; so the disk may be full, but not for LOG.
const logReserve = mib

// infoLog keeps room for RocksDB's LOG. It belongs to one goroutine.
type infoLog struct {
	path string
	file os.FileInfo // for which there is room
	size int64       // it had then
}

func newInfoLog(dir string) *infoLog { return &infoLog{path: filepath.Join(dir, infoLogName)} }

// reserve makes room, if half of it is used up or RocksDB has begun a new file.
// On a disk that is full already there is none to make.
func (l *infoLog) reserve() {
	st, err := os.Stat(l.path)
	if err != nil || (l.file != nil && os.SameFile(st, l.file) && st.Size() < l.size+logReserve/2) {
		return
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, st.Size(), logReserve) == nil {
		l.file, l.size = st, st.Size()
	}
}

// release gives the room back, once RocksDB has closed the file.
func (l *infoLog) release() {
	if st, err := os.Stat(l.path); err == nil {
		os.Truncate(l.path, st.Size())
	}
}
