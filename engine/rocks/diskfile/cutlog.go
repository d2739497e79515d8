package diskfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CutLog is a log that cannot be read as far as it was on disk, though more logs
// came after it. RocksDB looks at the sizes of such logs only, and takes a record
// that is longer than its file for the end of it.
type CutLog struct {
	File
	End   int64 // of the last record before it ends
	Bytes int64 // that were on disk
}

// String says what it is, for people.
func (c CutLog) String() string {
	return fmt.Sprintf("%s can be read up to byte %d, and had %d bytes on disk", filepath.Base(c.Path), c.End, c.Bytes)
}

// CutLogs returns those of dir, whose manifest m is. Those that no family needs any
// more do not count, nor those that are not there, which RocksDB reports.
func (m *Manifest) CutLogs(dir string) ([]CutLog, error) {
	logs, err := Files(dir, ".log")
	if err != nil {
		return nil, err
	}
	var cut []CutLog
	for _, log := range logs {
		bytes := int64(m.Logs[log.Number])
		if bytes == 0 || !m.needs(log.Number) {
			continue
		}
		end, err := lastEnd(log.Path)
		if err != nil && !errors.Is(err, ErrDamaged) { // what is damaged RocksDB reports
			return nil, err
		}
		if err == nil && end < bytes {
			cut = append(cut, CutLog{log, end, bytes})
		}
	}
	return cut, nil
}

// needs reports whether a family has changes in a log that are in no table.
func (m *Manifest) needs(log uint64) bool {
	for _, f := range m.Families {
		if f.Log <= log {
			return true
		}
	}
	return false
}

// lastEnd returns where the last whole record of a log ends. It returns ErrDamaged
// for damage that is not a log's being cut short.
func lastEnd(path string) (end int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for r, err := range Log(f) {
		var damage *Damage
		if errors.As(err, &damage) && damage.Cut() {
			continue
		}
		if err != nil {
			return end, err
		}
		end = r.End
	}
	return end, nil
}
