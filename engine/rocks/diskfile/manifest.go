package diskfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Manifest is what the manifest of a directory says that is there.
type Manifest struct {
	// Number is that of the file, 0 if CURRENT does not name one.
	Number uint64
	// Named is the number that CURRENT names: another than Number if that one is not there.
	Named uint64
	// End is behind its last whole record.
	End int64
	// Torn says that there is more behind End, the beginning of a record: a kill or a
	// power loss leaves that, and so does damage.
	Torn bool
	// Hole is where it is damaged first, nil if it is not. What comes behind it was read
	// all the same, unless it was to be passed over.
	Hole *Hole
	// Families are the column families by RocksDB's numbers.
	Families map[uint32]*Family
	// Logs are logs that nothing more is written to, and how many bytes of each were on
	// disk.
	Logs map[uint64]uint64
	// LastSequence is that of the newest change in a table.
	LastSequence uint64
	// MinLog is the first log that may have changes which are in no table, as far as that was
	// written down: one before it may be there all the same, as it could not be removed.
	MinLog uint64

	base  uint64 // LastSequence when the manifest was begun
	based bool
}

// Family is a column family as a manifest has it.
type Family struct {
	Name string
	// Log is the number of the first log with changes that are in no table.
	Log uint64
	// Tables are those that make up the family, by their numbers.
	Tables map[uint64]ListedTable

	flushed  uint64          // the newest change that ever was in a table
	replaced map[uint64]bool // tables that were listed once
}

// ListedTable is a table as a manifest lists it.
type ListedTable struct {
	Level       int
	Size        uint64 // of the file in bytes
	First, Last uint64 // the sequences of its oldest and its newest change
}

const (
	manifestPrefix = "MANIFEST-"
	maxCurrent     = 64 // bytes of CURRENT, which holds a name with a number of 20 digits at most
)

// ReadManifest reads the manifest that CURRENT of dir names. Where it cannot be
// read to its end, it returns an error with what was found, which always has the
// family 0, "default": an ErrDamaged, or what reading failed with. A manifest that
// ends in the middle of a record is Torn, and no error.
func ReadManifest(dir string) (*Manifest, error) { return readManifest(dir, false) }

// ReadManifestToHole is ReadManifest that passes over what comes behind a hole, which
// is no error.
func ReadManifestToHole(dir string) (*Manifest, error) { return readManifest(dir, true) }

func readManifest(dir string, toHole bool) (*Manifest, error) {
	m := &Manifest{Families: map[uint32]*Family{0: newFamily("default")}, Logs: map[uint64]uint64{}}
	path, named, err := CurrentManifest(dir)
	if err != nil {
		return m, err
	}
	m.Number, m.Named = manifestNumber(filepath.Base(path)), named
	f, err := Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	var errs []error
	for r, err := range Log(f) {
		var damage *Damage
		if err == nil && r.Recycled {
			err = &Damage{Offset: r.Offset, Length: r.End - r.Offset, Reason: recycledRecord}
		}
		switch {
		case errors.As(err, &damage) && damage.Cut():
			m.Torn = true
			continue
		case damage != nil:
			if m.Hole == nil {
				m.Hole = &Hole{File: File{path, m.Number}, Offset: m.End, Reason: damage.Reason}
			}
			if !toHole {
				errs = append(errs, err)
			}
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		case m.Hole != nil:
			m.Hole.Records++
			if toHole {
				continue
			}
		}
		e, err := parseEdit(r.Data)
		if err == nil {
			err = m.apply(&e)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("record at byte %d: %w", r.Offset, err))
		}
		m.End = r.End
	}
	if m.Hole != nil {
		if m.Hole.Bytes, err = bytesBehind(m.Hole); err != nil {
			errs = append(errs, err)
		}
	}
	return m, errors.Join(errs...)
}

// CurrentManifest returns the path of the manifest of dir, and the number of the one that
// CURRENT names. That is the manifest, unless it is not there and older ones are: then it
// is the newest of these. RocksDB makes a manifest, puts what it holds on disk,
// has CURRENT name it, puts the names in the directory on disk, and only then removes
// the one before; so a power cut may leave the name in CURRENT and not that of the
// file, where a file system keeps no order of names. CurrentManifest returns ErrDamaged if
// CURRENT names none.
func CurrentManifest(dir string) (path string, named uint64, err error) {
	current, err := ReadSmall(filepath.Join(dir, "CURRENT"), maxCurrent)
	if err != nil {
		return "", 0, err
	}
	name, ended := strings.CutSuffix(string(current), "\n")
	path = filepath.Join(dir, name)
	if named = manifestNumber(name); !ended || named == 0 {
		return "", 0, fmt.Errorf("%w: CURRENT names no manifest", ErrDamaged)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, named, nil // what else it is opening it tells
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", 0, err
	}
	newest := uint64(0)
	for _, e := range entries {
		if n := manifestNumber(e.Name()); n > newest && n < named && e.Type().IsRegular() {
			newest, path = n, filepath.Join(dir, e.Name())
		}
	}
	return path, named, nil
}

// manifestNumber returns the number of a manifest by its name; 0 if it is none.
func manifestNumber(name string) uint64 {
	digits, named := strings.CutPrefix(name, manifestPrefix)
	number, err := strconv.ParseUint(digits, 10, 64)
	if !named || err != nil {
		return 0
	}
	return number
}

func newFamily(name string) *Family {
	return &Family{Name: name, Tables: map[uint64]ListedTable{}, replaced: map[uint64]bool{}}
}

func (m *Manifest) apply(e *edit) error {
	if e.name != "" && e.family != 0 {
		m.Families[e.family] = newFamily(e.name)
	}
	if e.sequenced {
		m.LastSequence = max(m.LastSequence, e.lastSequence)
		if !m.based {
			m.base, m.based = e.lastSequence, true
		}
	}
	m.MinLog = max(m.MinLog, e.minLog)
	for _, log := range e.synced {
		m.Logs[log.number] = max(m.Logs[log.number], log.bytes)
	}
	maps.DeleteFunc(m.Logs, func(number, _ uint64) bool { return number < e.logsFrom })
	if e.drop {
		delete(m.Families, e.family)
		return nil
	}
	f := m.Families[e.family]
	if f == nil {
		return fmt.Errorf("%w: a version edit of the family %d, which there is not", ErrDamaged, e.family)
	}
	f.Log = max(f.Log, e.logNumber)
	for _, n := range e.deleted { // before those added: a table may move to another level
		delete(f.Tables, n)
		f.replaced[n] = true
	}
	for _, a := range e.added {
		f.Tables[a.number] = a.ListedTable
		f.flushed = max(f.flushed, a.Last)
	}
	return nil
}

// Tabled returns the sequence of the newest change that a family has ever had in a
// table.
func (m *Manifest) Tabled() (seq uint64) {
	for _, f := range m.Families {
		seq = max(seq, f.flushed)
	}
	return seq
}

// TablePath returns where the table of a number is in dir.
func TablePath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%06d.sst", number))
}

// Names returns the names of the column families by their numbers.
func (m *Manifest) Names() map[uint32]string {
	names := make(map[uint32]string, len(m.Families))
	for id, f := range m.Families {
		names[id] = f.Name
	}
	return names
}

// family returns the family of a name, nil if there is none.
func (m *Manifest) family(name string) *Family {
	for _, f := range m.Families {
		if f.Name == name {
			return f
		}
	}
	return nil
}
