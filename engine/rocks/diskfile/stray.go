package diskfile

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// Stray is a table that the manifest does not list, with changes that are in no
// table that it lists, and in no log. No kill and no power loss leaves one: RocksDB
// deletes a log after the manifest lists the table that has taken its place.
type Stray struct {
	File
	Family string
	// Changes is how many there are only here, First and Last the sequences of the
	// oldest and the newest of them.
	Changes     uint64
	First, Last uint64
}

// String says what it is, for people.
func (s Stray) String() string {
	return fmt.Sprintf("%s of %s, which the manifest does not list, has %d changes, from sequence %d to %d, that are in no other table and no log",
		filepath.Base(s.Path), s.Family, s.Changes, s.First, s.Last)
}

// Strays returns those of dir, whose manifest m is and which nobody has open. What
// a kill leaves is passed over:
//
//   - a table that was not written to its end;
//   - one whose changes are still in the logs, from the log of its family on;
//   - one that a compaction has made, or has replaced: its changes are not newer
//     than the newest that its family has had in tables.
//
// It errs on the side of silence where a manifest was begun in the middle of work,
// as RocksDB does when one has 64 MiB: what is older than that is not looked at.
func (m *Manifest) Strays(dir string) ([]Stray, error) {
	tables, err := Files(dir, ".sst")
	if err != nil {
		return nil, err
	}
	listed := map[uint64]bool{}
	for _, f := range m.Families {
		for n := range f.Tables {
			listed[n] = true
		}
		for n := range f.replaced {
			listed[n] = true
		}
	}
	var strays []Stray
	var logs []logStart
	for _, t := range tables {
		if listed[t.Number] {
			continue
		}
		if logs == nil {
			if logs, err = logStarts(dir); err != nil {
				return nil, err
			}
		}
		s, err := m.stray(t, logs)
		if err != nil {
			return nil, err
		}
		if s.Changes > 0 {
			strays = append(strays, s)
		}
	}
	return strays, nil
}

// stray looks at a table that is not listed.
func (m *Manifest) stray(file File, logs []logStart) (s Stray, err error) {
	t, err := OpenListedTable(file.Path)
	if errors.Is(err, ErrDamaged) || errors.Is(err, os.ErrNotExist) {
		return s, nil // it was not written to its end, or is gone
	}
	if err != nil {
		return s, err
	}
	defer t.Close()
	if t.Family == "" {
		return s, nil
	}
	f := m.family(t.Family)
	if f == nil { // a manifest may end before it adds the family
		f = newFamily(t.Family)
	}
	s.File, s.Family = file, f.Name
	from, to := max(m.base, f.flushed), uint64(math.MaxUint64)
	for _, log := range logs {
		if log.number >= f.Log {
			to = min(to, log.first)
		}
	}
	count := func(c Change) error {
		if c.Sequence > from && c.Sequence < to {
			if s.Changes == 0 || c.Sequence < s.First {
				s.First = c.Sequence
			}
			s.Last = max(s.Last, c.Sequence)
			s.Changes++
		}
		return nil
	}
	for _, c := range t.Deletes {
		_ = count(c)
	}
	for i := range t.Blocks() {
		if err := t.Read(i, count); err != nil && !errors.Is(err, ErrDamaged) {
			return s, err
		}
	}
	return s, nil
}

// logStart is where a log begins.
type logStart struct {
	number uint64
	first  uint64 // sequence of its first change; MaxUint64 if it has none, 0 if that cannot be read
}

// logStarts returns where the logs of dir begin, the oldest first.
func logStarts(dir string) ([]logStart, error) {
	files, err := Files(dir, ".log")
	if err != nil {
		return nil, err
	}
	logs := make([]logStart, len(files))
	for i, f := range files {
		if logs[i].first, err = firstSequence(f.Path); err != nil {
			return nil, err
		}
		logs[i].number = f.Number
	}
	return logs, nil
}

func firstSequence(path string) (uint64, error) {
	f, err := Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for r, err := range Log(f) {
		var damage *Damage
		if errors.As(err, &damage) {
			if damage.Cut() {
				break
			}
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if b, err := ParseBatch(r.Data); err == nil {
			return b.Sequence, nil
		}
		return 0, nil
	}
	return math.MaxUint64, nil
}
