//go:build cgo

package rocks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/linxGnu/grocksdb"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// The keys of the default family.
const (
	schemaKey = "stoa.schema" // schema version, u32 little-endian
	nodeKey   = "stoa.node"   // node id, u128 little-endian
	sealKey   = "stoa.seal"   // present when secrets are sealed
)

// survey is what a database holds, found without changing anything in its
// directory. Whatever keeps it from being opened is found here.
type survey struct {
	families   []string // that this build knows, default first
	unknown    []string
	missing    []string
	created    bool // the schema version is there
	schema     uint32
	format     format // what wrote it last
	node       codec.NodeID
	sealed     bool
	generation uint64 // of the watermark; 0: the file has to be written anew
	recovery   Recovery
	holes      holes
	current    string   // the manifest that CURRENT has to name, since the one that it does is not there; "": it is
	secondary  bool     // it is open beside its owner
	unfit      []string // what RocksDB is not to be asked about; see Listing.unfit
}

// take surveys the database in dir.
func take(dir string, o *Options) (survey, error) {
	return lookAgain(dir, func() (survey, error) { return takeOnce(dir, o) })
}

// lookAgain surveys the database in dir a second time where the first found damage and
// the marker of a clean shutdown, which is gone since: an owner has opened it meanwhile,
// and may have died.
func lookAgain(dir string, look func() (survey, error)) (survey, error) {
	s, err := look()
	if errors.Is(err, engine.ErrCorrupt) && s.recovery.Clean {
		if _, clean, _ := readMarker(dir); !clean {
			s, err = look()
		}
	}
	return s, err
}

func takeOnce(dir string, o *Options) (s survey, err error) {
	// The watermark comes first: what a live owner adds later only makes the
	// database newer than it.
	err = s.readFiles(dir, o)
	if len(s.unfit) > 0 {
		err = fmt.Errorf("%w: open %s: %s; nothing was changed; %s", engine.ErrCorrupt, dir, strings.Join(s.unfit, "; "), salvageHint(dir))
	}
	if err != nil {
		return s, err
	}
	opening := opening{dir: dir, options: o, mode: s.recovery.Mode, readOnly: true}
	if s.mended() {
		if opening.pinned, err = pin(dir, o.ScratchDir, s.lengths()); err != nil {
			return s, err
		}
	}
	if err = s.listFamilies(opening); err != nil {
		return s, errors.Join(err, opening.pinned.close())
	}
	opening.families = []string{defaultFamily}
	st, err := opening.open()
	if err != nil {
		return s, errors.Join(err, opening.pinned.close())
	}
	defer st.close()
	if s.recovery.Sequence == 0 { // RocksDB's may be that of a change whose log is gone
		s.recovery.Sequence = st.db.GetLatestSequenceNumber()
	}
	if s.recovery.Watermark > s.recovery.Sequence {
		s.recovery.Lost = s.recovery.Watermark - s.recovery.Sequence
	}
	return s, s.readDefault(dir, st)
}

// readFiles reads the marker, the watermark, the manifest and the logs. It returns
// ErrCorrupt for a hole in what was on disk.
func (s *survey) readFiles(dir string, o *Options) error {
	r := &s.recovery
	note := func(problem string) {
		if problem != "" {
			r.Problems = append(r.Problems, problem)
		}
	}
	w, problem := readWatermark(dir)
	note(problem)
	if problem == "" {
		s.generation = w.generation
	}
	m, clean, problem := readMarker(dir)
	note(problem)
	r.Watermark, r.Clean, r.Mode = w.sequence, clean, TolerateTail
	if clean {
		r.Watermark, r.Mode = max(w.sequence, m.sequence), Absolute
	}
	if o.held { // its owner is about to list what is not listed yet
		var l Listing
		var err error
		if l.Manifest, err = diskfile.ReadManifest(dir); err == nil {
			_, l.Damaged, _ = l.Manifest.CheckLogs(dir) // what fails to be read RocksDB reports
			l.Unread, _ = l.Manifest.CheckTables(dir)
		}
		s.unfit = l.unfit(err)
		return nil
	}
	covered := r.Watermark
	if clean || w.generation == 0 {
		covered = everything
	}
	l, err := listTables(dir, w.manifest, o.until)
	if checkLock(dir) != nil {
		return nil // it has an owner by now
	}
	if errors.Is(err, engine.ErrCorrupt) {
		return err
	}
	hole := admitHole(dir, l.Chain, l.Manifest, covered)
	if hole == nil {
		s.endBefore(&l)
	}
	if s.unfit = l.unfit(err); len(s.unfit) > 0 || hole != nil {
		return hole // which is said in the words of what is unfit, where something is
	}
	if l.Manifest.Number != l.Manifest.Named {
		s.current = fmt.Sprintf("MANIFEST-%06d", l.Manifest.Number)
		note(fmt.Sprintf("CURRENT names MANIFEST-%06d, whose name was not on disk yet: what was on disk is in %s", l.Manifest.Named, s.current))
	}
	if err != nil { // RocksDB refuses it too, unless it knows more
		note("tables that the manifest does not list cannot be noticed: " + err.Error())
	}
	r.Cut = l.Cut
	for _, stray := range l.Strays {
		r.Unlisted = append(r.Unlisted, stray.String())
	}
	for _, log := range l.Logs {
		r.Logs = append(r.Logs, log.String())
	}
	return nil
}

// endBefore has the store end before the holes of a listing.
func (s *survey) endBefore(l *Listing) {
	r := &s.recovery
	s.holes, r.Sequence = holes{l.Chain.Hole, l.Hole}, l.Chain.Last
	if hole := l.Chain.Hole; hole != nil {
		l.Damaged = nil // that is behind it
		if !hole.Refused {
			r.Left = append(r.Left, fmt.Sprintf("the log ends at sequence %d, before a hole in what was not known to be on disk: %s", l.Chain.Last, hole))
		}
	}
	if l.Hole != nil {
		r.Left = append(r.Left, fmt.Sprintf("the manifest ends before a hole in what was not known to be on disk: %s", l.Hole))
	}
}

// listFamilies asks RocksDB which families there are.
func (s *survey) listFamilies(o opening) error {
	names, err := watched(o.dir, stuckAfter, lookEvery, func() ([]string, error) {
		opts, err := databaseOptions(o.options, o.mode)
		if err != nil {
			return nil, err
		}
		defer opts.Destroy()
		names, err := grocksdb.ListColumnFamilies(opts, o.path())
		if err != nil {
			return nil, openError(o.dir, errors.New(o.renamed().said(err.Error())))
		}
		return names, nil
	}, func([]string) {})
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, known := column.Parse(name); known || name == defaultFamily {
			s.families = append(s.families, name)
		} else {
			s.unknown = append(s.unknown, name)
		}
	}
	for c := range column.All {
		if !slices.Contains(names, c.String()) {
			s.missing = append(s.missing, c.String())
		}
	}
	return nil
}

// readDefault reads the rows of the default family.
func (s *survey) readDefault(dir string, st *store) error {
	row := func(key string, size int) (value []byte, there bool, err error) {
		value, err = st.h.get(nil, nil, 0, []byte(key))
		if errors.Is(err, engine.ErrNotFound) {
			return nil, false, nil
		}
		if err == nil && size > 0 && len(value) != size {
			err = fmt.Errorf("%w: %s of %s has %d bytes, not %d", engine.ErrCorrupt, key, dir, len(value), size)
		}
		return value, true, err
	}
	schema, there, err := row(schemaKey, 4)
	if err != nil || !there {
		return err
	}
	s.created, s.schema = true, binary.LittleEndian.Uint32(schema)
	if s.schema != SchemaVersion {
		return nil // its other rows are its own affair
	}
	node, there, err := row(nodeKey, 16)
	if err != nil {
		return err
	}
	if there {
		s.node = codec.NodeID{Hi: binary.LittleEndian.Uint64(node[8:]), Lo: binary.LittleEndian.Uint64(node)}
	}
	if s.node.IsZero() {
		return fmt.Errorf("%w: %s of %s is missing or zero", engine.ErrCorrupt, nodeKey, dir)
	}
	_, s.sealed, err = row(sealKey, 0)
	return err
}

// unfinished reports whether the creation of the database was broken off before
// anything was written.
func (s *survey) unfinished() bool {
	return !s.created && s.recovery.Sequence == 0 && len(s.unknown) == 0 && (s.recovery.Watermark == 0 || s.recovery.Lost > 0)
}

// admit returns the error that keeps the database from being opened with o.
func (s *survey) admit(dir string, o *Options) error {
	r := &s.recovery
	if r.Lost > 0 && !o.AcceptLoss && !o.ReadOnly {
		return fmt.Errorf("%w: %s ends at sequence %d, but had %d on disk: %d changes are lost; nothing was changed; "+
			"restore a checkpoint, or take it as it is with AcceptLoss (`stoa serve --accept-loss`)", engine.ErrCorrupt, dir, r.Sequence, r.Watermark, r.Lost)
	}
	if r.Sequence < o.until && !o.ReadOnly {
		return fmt.Errorf("%w: %d changes of %s that were not on disk yet are lost with what failed; stop, and open it again: "+
			"who has read them is not to go on with them", engine.ErrReadOnly, o.until-r.Sequence, dir)
	}
	if len(r.Logs) > 0 && !o.AcceptLoss && !o.ReadOnly {
		return fmt.Errorf("%w: changes in the middle of the log of %s are lost: %s; nothing was changed; %s, restore a checkpoint, "+
			"or take it as it is with AcceptLoss (`stoa serve --accept-loss`)", engine.ErrCorrupt, dir, strings.Join(r.Logs, "; "), salvageHint(dir))
	}
	found := slices.Clone(r.Unlisted)
	if r.Cut != "" {
		found = slices.Insert(found, 0, r.Cut)
	}
	if len(found) > 0 && (!s.created || !o.AcceptLoss && !o.ReadOnly) {
		return fmt.Errorf("%w: the end of the manifest of %s is lost, and with it where the newest tables belong, which RocksDB would delete: %s; "+
			"nothing was changed; %s, restore a checkpoint, or take it as it is with AcceptLoss (`stoa serve --accept-loss`)",
			engine.ErrCorrupt, dir, strings.Join(found, "; "), salvageHint(dir))
	}
	switch {
	case s.unfinished():
		if o.MustExist {
			return fmt.Errorf("%w: the creation of %s was broken off; nothing is in it", engine.ErrNotDatabase, dir)
		}
		return nil
	case !s.created:
		return fmt.Errorf("%w: %s is a RocksDB database, but not one of stoa: it has no %s", engine.ErrNotDatabase, dir, schemaKey)
	case o.ReadOnly:
		return nil
	case s.schema != SchemaVersion:
		return fmt.Errorf("%w: %s has schema version %d, this build knows %d; use a build that knows it, or open read-only", engine.ErrSchema, dir, s.schema, SchemaVersion)
	case len(s.unknown) > 0 && o.DropEmptyFamilies:
		return emptyFamilies(dir, s.unknown)
	case len(s.unknown) > 0:
		return fmt.Errorf("%w: %s has the column family %q, which schema version %d does not know; if other software has left it there, "+
			"and it has no rows, `stoa serve --drop-empty-families` drops it; else open read-only to look at the rest", engine.ErrSchema, dir, s.unknown[0], SchemaVersion)
	case len(s.missing) > 0:
		return fmt.Errorf("%w: %s lacks the column family %q; open read-only to look at the rest", engine.ErrSchema, dir, s.missing[0])
	}
	return nil
}

// mended reports whether RocksDB is to be shown other files than those of the directory.
func (s *survey) mended() bool { return s.holes.any() || s.current != "" }

// lengths is what pin is to show of the files; nil: they are as they are.
func (s *survey) lengths() map[string]int64 {
	if !s.mended() {
		return nil
	}
	return s.holes.lengths()
}

// mend makes the directory what RocksDB was shown: it ends the files before their holes,
// and says where it has put the rest, and has CURRENT name the manifest that is there.
func (s *survey) mend(dir string) error {
	if !s.mended() {
		return nil
	}
	lock, err := takeLock(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if s.current != "" {
		if err := writeFile(filepath.Join(dir, "CURRENT"), []byte(s.current+"\n")); err != nil {
			return fmt.Errorf("engine: open %s: name its manifest: %w", dir, noSpace(err))
		}
	}
	kept, err := s.holes.leave(dir)
	if len(kept) > 0 {
		s.recovery.Left = append(s.recovery.Left, "what was left is kept in "+strings.Join(kept, ", ")+" of "+dir)
	}
	return err
}

// strange lists, for people, what is not as this build knows it.
func (s *survey) strange() (list []string) {
	if s.created && s.schema != SchemaVersion {
		list = append(list, fmt.Sprintf("schema version %d (this build knows %d)", s.schema, SchemaVersion))
	}
	if s.format.newer() {
		list = append(list, s.format.unknown())
	}
	for _, name := range s.unknown {
		list = append(list, fmt.Sprintf("column family %q", name))
	}
	for _, name := range s.missing {
		list = append(list, fmt.Sprintf("no column family %q", name))
	}
	return list
}
