package diskfile

import (
	"errors"
	"fmt"
	"io/fs"
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

// DamagedLog is a log with something in it that the store has not written. What a
// RocksDB does with that is not known beforehand: 9.10 looks for ever for the end of
// one in the form of recycled logs, which one flipped bit makes.
type DamagedLog struct {
	File
	Damage
}

// String says what it is, for people.
func (d DamagedLog) String() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s", filepath.Base(d.Path), d.Offset, d.Reason)
}

// CheckLogs reads the logs of dir, whose manifest m is, and returns those that are
// not as the store has left them. Those that no family needs any more do not count,
// nor those that are not there, which RocksDB reports.
func (m *Manifest) CheckLogs(dir string) (cut []CutLog, damaged []DamagedLog, err error) {
	logs, err := Files(dir, ".log")
	if err != nil {
		return nil, nil, err
	}
	for _, log := range logs {
		if !m.needs(log.Number) {
			continue
		}
		end, err := lastEnd(log.Path)
		var damage *Damage
		bytes := int64(m.Logs[log.Number])
		switch {
		case errors.As(err, &damage):
			damaged = append(damaged, DamagedLog{log, *damage})
		case errors.Is(err, fs.ErrNotExist): // its owner has deleted it meanwhile
		case err != nil:
			return nil, nil, err
		case end < bytes:
			cut = append(cut, CutLog{log, end, bytes})
		}
	}
	return cut, damaged, nil
}

// needs reports whether a family has changes in a log that are in no table, as RocksDB
// decides whether to read it. A family that never had a table says of all logs that it may.
func (m *Manifest) needs(log uint64) bool {
	if log < m.MinLog {
		return false
	}
	for _, f := range m.Families {
		if f.Log <= log {
			return true
		}
	}
	return false
}

// lastEnd returns where the last whole record of a log ends. It returns a *Damage
// for anything that the store does not write, but for a record that the end of the
// file cuts short.
func lastEnd(path string) (end int64, err error) {
	f, err := Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for r, err := range Log(f) {
		var damage *Damage
		switch {
		case errors.As(err, &damage) && damage.Cut():
			continue
		case err != nil:
			return end, err
		case r.Recycled:
			return end, &Damage{Offset: r.Offset, Length: r.End - r.Offset, Reason: recycledRecord}
		}
		end = r.End
	}
	return end, nil
}
