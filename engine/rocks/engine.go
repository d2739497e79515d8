//go:build cgo

package rocks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Engine is an engine.Engine on RocksDB; see Open. Any number of goroutines may
// use it at once.
type Engine struct {
	dir  string
	o    Options
	log  *slog.Logger
	life sync.Mutex // one opening or closing at a time

	// Every call that reaches RocksDB holds mu for reading, so that nothing runs
	// in a database that is being closed.
	mu    sync.RWMutex
	st    *store // nil: not open
	down  error  // why not
	found survey
	home  *home // of a store that was opened for writing; nil: none was

	commit *engine.Committer
	fault  atomic.Pointer[fault] // why it takes no writes; nil: it does
	slow   atomic.Pointer[engine.SlowWrite]
	space  space
	keeper *keeper

	snapshots atomic.Int64
	entry     [column.Count + 1]atomic.Uint32 // bytes of a typical entry
	scratch   sync.Pool
}

// fault is why an engine takes no writes.
type fault struct{ err error }

var _ engine.Engine = (*Engine)(nil)

// Open opens the store in dir, and makes it if there is none and o says so.
//
// It returns ErrOptions for options out of their limits; engine.ErrNotDatabase
// if dir is a file, or has something else in it; engine.ErrPlace if it is to be made
// within another store; engine.ErrLocked if another process has it open; ErrUnfinished
// if it is not whole (see Building); engine.ErrSchema if it has another schema version
// or other column families, or was written by a version that this build must not write
// after, or that cannot be told; engine.ErrCorrupt if it is damaged or has lost changes
// that were on disk (see AcceptLoss); engine.ErrNoSpace if the disk is full. In
// all these cases it changes nothing of the store. An opening that computes for a
// minute without reading anything is ErrCorrupt too; its thread is left behind, and
// the process should end.
func Open(dir string, o Options) (*Engine, error) {
	o, err := o.withDefaults()
	if err == nil {
		err = checkPath(dir)
	}
	if err == nil {
		err = checkLayout()
	}
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("engine: open: %w", err)
	}
	e := &Engine{dir: dir, o: o, log: o.Logger.With("dir", dir)}
	e.space = space{dir: dir, keep: o.MinFreeBytes, now: o.Now}
	e.scratch.New = func() any { return new(packed) }
	e.commit = engine.NewCommitter((*sink)(e))
	if err := e.start(o.ReadOnly); err != nil {
		return nil, err
	}
	e.o.MustExist, e.o.NewNode = true, false // for Reopen
	return e, nil
}

// readTries is how often a store that another process has open is tried to be
// opened read-only: a file of it may go between being named and being opened.
const readTries = 20

// start opens the directory. The caller holds life, and mu if others may be
// waiting.
func (e *Engine) start(readOnly bool) error {
	err := e.startOnce(readOnly)
	for try := 1; try < readTries && readOnly && errors.Is(err, engine.ErrCorrupt) && !errors.Is(err, errStuck) && checkLock(e.dir) != nil; try++ {
		err = e.startOnce(true)
	}
	return err
}

func (e *Engine) startOnce(readOnly bool) error {
	builder := building(e.dir)
	part := builder != "" && !e.o.Building
	if part && !readOnly {
		return unfinished(e.dir, builder)
	}
	err := e.startAs(readOnly, builder)
	if part && (errors.Is(err, engine.ErrCorrupt) || errors.Is(err, engine.ErrNotDatabase)) && !errors.Is(err, errStuck) {
		return unfinished(e.dir, builder) // which says more than what it lacks
	}
	return err
}

// startAs opens the directory, which builder is making a store of, unless that is empty.
func (e *Engine) startAs(readOnly bool, builder string) error {
	o := e.o
	o.ReadOnly = readOnly
	o.held = readOnly && checkLock(e.dir) != nil
	wrote, problem := readFormat(e.dir)
	if err := wrote.refuse(e.dir); err != nil && !readOnly {
		return err
	}
	what, err := lookInto(e.dir)
	if err == nil && problem != "" && !readOnly && !o.AcceptLoss {
		err = unreadable(e.dir, problem)
	}
	if err != nil {
		return err
	}
	if what == database && !readOnly {
		if err := checkLock(e.dir); err != nil {
			return err
		}
	}
	var s survey
	if what == database {
		if s, err = take(e.dir, &o); err == nil {
			err = s.admit(e.dir, &o)
		}
	} else {
		s.recovery.Mode = TolerateTail
		err = e.prepare(&o)
	}
	if err != nil {
		return err
	}
	s.recovery.Unfinished, s.format = builder, wrote
	if problem != "" {
		s.recovery.Problems = append(s.recovery.Problems, problem)
	}
	if readOnly {
		return e.startReader(s, &o)
	}
	if err := roomToOpen(e.dir, logBytes(e.dir)); err != nil {
		return err
	}
	return e.startWriter(s, &o, what == nothing || s.unfinished())
}

// prepare makes the directory of a new store.
func (e *Engine) prepare(o *Options) error {
	if o.MustExist {
		return fmt.Errorf("%w: there is none in %s", engine.ErrNotDatabase, e.dir)
	}
	if err := CheckPlace(e.dir); err != nil {
		return err
	}
	disk := space{dir: existing(e.dir), keep: o.MinFreeBytes, now: o.Now}
	if err := disk.admit(nil); err != nil {
		return err
	}
	if err := roomToOpen(disk.dir, 0); err != nil {
		return err
	}
	if err := makeDir(e.dir); err != nil {
		return fmt.Errorf("engine: create %s: %w", e.dir, noSpace(err))
	}
	return nil
}

func (e *Engine) startReader(s survey, o *Options) error {
	how := opening{dir: e.dir, options: o, mode: s.recovery.Mode, families: s.families, readOnly: true}
	if how.secondary() && hasBlobFiles(e.dir) || s.mended() {
		var err error
		if how.pinned, err = pin(e.dir, o.ScratchDir, s.lengths()); err != nil {
			return err
		}
	}
	st, err := how.open()
	if err != nil {
		return errors.Join(err, how.pinned.close())
	}
	if how.secondary() && st.numberOfBlobFiles() > 0 {
		st.close() // the first one has come since
		return e.startReader(s, o)
	}
	s.recovery.Sequence = st.written.Load()
	s.secondary = o.held && o.ScratchDir != ""
	e.adopt(st, s)
	if e.fault.Load() == nil {
		e.fault.Store(&fault{fmt.Errorf("%w: %s was opened read-only", engine.ErrReadOnly, e.dir)})
	}
	return nil
}

func (e *Engine) startWriter(s survey, o *Options, create bool) error {
	families := []string{defaultFamily}
	for c := range column.All {
		families = append(families, c.String())
	}
	families = append(families, s.unknown...) // which are empty, and are dropped
	at, err := openHome(e.dir, o.plain)
	if err != nil {
		return fmt.Errorf("engine: open: %w", err)
	}
	if err := s.mend(e.dir); err != nil {
		at.close()
		return err
	}
	st, err := opening{dir: e.dir, options: o, mode: s.recovery.Mode, families: families, create: create, home: at}.open()
	if err != nil {
		at.close()
		return err
	}
	said := at.renamed()
	err = st.beginTerm()
	var mark *watermark
	if err == nil {
		mark, err = beginWriting(st, s.generation)
	}
	if err == nil {
		err = st.dropForeign()
	}
	if err == nil && create {
		s.recovery.Created = true
		s.node, err = createRows(st, o.Rand)
		s.schema, s.created = SchemaVersion, true
	}
	if err == nil && o.NewNode && !create {
		s.node, err = renewNode(st, o.Rand)
	}
	if err == nil {
		err = raiseTo(mark, at.path, st.written.Load())
	}
	if err != nil {
		if mark != nil {
			_ = mark.close() // nothing of it is to be kept
		}
		st.close()
		at.close()
		return fmt.Errorf("engine: open %s: %w", e.dir, noSpace(said.say(err)))
	}
	if len(s.unknown) > 0 {
		e.log.Info("dropped column families without rows, which this build does not know", "families", s.unknown)
	}
	s.missing, s.unknown = nil, nil
	s.recovery.Sequence = st.written.Load()
	e.fault.Store(nil)
	e.adopt(st, s)
	e.home = at
	e.keeper = e.keep(st, mark)
	return nil
}

// beginWriting removes the marker and returns a new watermark: both are to be on disk
// before anything is written, so that there is no moment at which a crash leaves a
// store with rows and without them.
func beginWriting(st *store, generation uint64) (*watermark, error) {
	dir := st.home.path
	if err := ownFormat().write(dir); err != nil {
		return nil, err
	}
	if err := removeMarker(dir); err != nil {
		return nil, err
	}
	manifest, err := markManifest(dir, manifestMark{})
	if err != nil {
		return nil, err
	}
	return openWatermark(dir, level{st.written.Load(), manifest}, generation)
}

// raiseTo moves a watermark to a sequence that is on disk, and to the end of the
// manifest.
func raiseTo(mark *watermark, dir string, seq uint64) error {
	manifest, err := markManifest(dir, mark.manifest)
	if err != nil {
		return err
	}
	return mark.raise(level{seq, manifest})
}

// createRows writes what makes a database a store: the schema version and a new
// node id, in one batch, and on to a table, so that they outlive the log.
func createRows(st *store, random io.Reader) (id codec.NodeID, err error) {
	var rows engine.Batch
	rows.Put(0, []byte(schemaKey), binary.LittleEndian.AppendUint32(nil, SchemaVersion))
	return drawNode(st, random, &rows)
}

// renewNode writes another node id.
func renewNode(st *store, random io.Reader) (codec.NodeID, error) {
	return drawNode(st, random, new(engine.Batch))
}

// drawNode writes a new node id, with rows.
func drawNode(st *store, random io.Reader, rows *engine.Batch) (id codec.NodeID, err error) {
	var b [16]byte
	for id.IsZero() {
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return id, fmt.Errorf("draw a node id: %w", err)
		}
		id = codec.NodeID{Hi: binary.LittleEndian.Uint64(b[8:]), Lo: binary.LittleEndian.Uint64(b[:])}
	}
	rows.Put(0, []byte(nodeKey), b[:])
	seq, err := st.h.write(rows.Bytes(), true)
	if err != nil {
		return id, err
	}
	st.written.Store(seq)
	st.synced.Store(seq)
	return id, st.flush(0)
}

// adopt makes st what the engine reads and writes, and tells the log of what was
// found.
func (e *Engine) adopt(st *store, s survey) {
	e.st, e.down, e.found = st, nil, s
	r := s.recovery
	severity := slog.LevelInfo
	if r.Damaged() || len(r.Left) > 0 || len(r.Problems) > 0 {
		severity = slog.LevelWarn
	}
	e.log.Log(context.Background(), severity, "store opened", "created", r.Created, "clean", r.Clean, "wal_recovery", r.Mode.String(),
		"sequence", r.Sequence, "watermark", r.Watermark, "lost", r.Lost, "manifest_cut", r.Cut, "unlisted", r.Unlisted, "logs_cut", r.Logs, "left", r.Left, "problems", r.Problems)
}

// Dir returns the absolute path of the directory.
func (e *Engine) Dir() string { return e.dir }

// NodeID returns this node's id, which a store has from its creation on. It is
// zero only in a store of another schema version.
func (e *Engine) NodeID() codec.NodeID { return e.facts().node }

// SchemaVersion returns the schema version of the directory. It is this build's
// SchemaVersion unless the engine is read-only.
func (e *Engine) SchemaVersion() uint32 { return e.facts().schema }

// Sealed reports whether the store kept its secrets sealed when it was opened.
func (e *Engine) Sealed() bool { return e.facts().sealed }

// Secondary reports whether the store is open beside a process that has it open for
// writing; see Options.ScratchDir.
func (e *Engine) Secondary() bool { return e.facts().secondary }

// Unknown lists, for people, what the directory has that this build does not
// know. It is empty unless the engine is read-only.
func (e *Engine) Unknown() []string {
	f := e.facts()
	return f.strange()
}

// Recovery says what was found when the store was opened last.
func (e *Engine) Recovery() Recovery { return e.facts().recovery }

func (e *Engine) facts() survey {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.found
}

// Close ends the engine, iterators and snapshots included; see [engine.Engine]. Its
// error says why the store is left as a kill would leave it: it has a fault (see
// Health), or something of the last writes could not be put into tables. They are still
// in the log. If the directory was moved and files go where its path leads (see
// README.md), the error is ErrMoved, and the database stays open and locked until the
// process ends.
func (e *Engine) Close() error {
	e.life.Lock()
	defer e.life.Unlock()
	e.commit.Stop(engine.ErrClosed)
	if errors.Is(e.why(), engine.ErrClosed) {
		return engine.ErrClosed
	}
	err := e.seal()
	e.shut(engine.ErrClosed)
	severity := slog.LevelInfo
	if err != nil {
		severity = slog.LevelError
	}
	e.log.Log(context.Background(), severity, "store closed", "error", err)
	return err
}

// seal puts everything on disk that a clean shutdown needs, and leaves the
// marker. A store with a fault is left as it is, which its error says; but for one whose
// directory was moved, if files still go into that.
func (e *Engine) seal() error {
	if e.keeper == nil {
		return e.unsealed()
	}
	mark := e.keeper.stop()
	defer mark.close()
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.st.db.DisableManualCompaction()
	e.checkHome()
	if f := e.fault.Load(); f != nil && !(errors.Is(f.err, ErrMoved) && e.home.follows() && !e.home.removed()) {
		return e.unsealed()
	}
	dir, said := e.home.path, e.home.renamed()
	for c := range e.st.families {
		if err := e.st.flush(column.Column(c)); err != nil {
			return err
		}
	}
	if err := e.st.syncLog(); err != nil {
		return err
	}
	seq := e.st.written.Load()
	if err := raiseTo(mark, dir, seq); err != nil {
		return fmt.Errorf("engine: close %s: watermark: %w", e.dir, noSpace(said.say(err)))
	}
	if err := writeMarker(dir, marker{SchemaVersion, seq}); err != nil {
		return fmt.Errorf("engine: close %s: marker: %w", e.dir, noSpace(said.say(err)))
	}
	return nil
}

// unsealed returns why a store that was to be written to is not sealed; nil if it was
// only to be read.
func (e *Engine) unsealed() error {
	f := e.fault.Load()
	if e.o.ReadOnly || f == nil {
		return nil
	}
	return fmt.Errorf("engine: close %s: it is left as a kill would leave it: %w", e.dir, f.err)
}

// shut closes the store, if it is open, and makes every call return why.
func (e *Engine) shut(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closeStore()
	e.down = why
}

// closeStore closes the store, if one is open. The keeper must have stopped, and
// the caller holds mu.
func (e *Engine) closeStore() {
	if e.st != nil && !e.st.close() {
		e.log.Error("the database is left open until the process ends, since its closing would write to where the path leads, " +
			"which is not the directory that was opened; nothing is lost")
	}
	if e.keeper != nil {
		e.keeper.info.release()
		e.home.close()
	}
	e.st, e.keeper = nil, nil
}

// why returns the reason why nothing is open, nil if a store is.
func (e *Engine) why() error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.down
}
