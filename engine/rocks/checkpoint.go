//go:build cgo

package rocks

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/stoadb/stoa/engine"
)

// Checkpoint copies the store into a directory; see [engine.Maintenance]. It writes
// nothing to tables: what is in memory goes along as a copy of the write-ahead log. It
// returns fs.ErrExist if there is something at dir, engine.ErrPlace if that is within a
// store, and engine.ErrUnsupported if the engine was opened read-only. The copy has a
// watermark of its own, and this node's id.
func (e *Engine) Checkpoint(dir string) error {
	if err := checkPath(dir); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("engine: checkpoint: %w", err)
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	switch {
	case e.st == nil:
		return e.down
	case e.keeper == nil:
		return fmt.Errorf("%w: a checkpoint of %s, which is open read-only", engine.ErrUnsupported, e.dir)
	}
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("engine: checkpoint: %s: %w; give a path where nothing is", dir, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("engine: checkpoint: %w", err)
	}
	if err := CheckPlace(dir); err != nil {
		return err
	}
	e.checkHome()
	if f := e.fault.Load(); f != nil && errors.Is(f.err, ErrMoved) && !e.home.follows() {
		return f.err // files would be looked for in another directory
	}
	if e.fault.Load() == nil {
		// RocksDB links logs that are closed as they are, synced or not.
		if err := e.st.syncLog(); err != nil {
			return e.fail(err)
		}
	}
	if err := e.st.checkpoint(dir); err != nil {
		return fmt.Errorf("engine: checkpoint to %s: %w", dir, noSpace(err))
	}
	return nil
}

// checkpoint makes the copy in a directory that nobody else may enter, and moves
// it to its place when it is whole: RocksDB makes its own for all to read.
func (st *store) checkpoint(dir string) (err error) {
	private, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(private)
	c, err := st.db.NewCheckpoint()
	if err != nil {
		return st.h.files.classify("checkpoint", err.Error())
	}
	defer c.Destroy()
	seq := st.synced.Load() // what the copy holds, on disk, at least
	made := filepath.Join(private, "made")
	if err := c.CreateCheckpoint(made, math.MaxUint64); err != nil {
		return st.h.files.classify("checkpoint", err.Error())
	}
	if err := os.Chmod(made, 0o700); err != nil {
		return err
	}
	if err := ownFormat().write(made); err != nil {
		return err
	}
	manifest, err := markManifest(made, manifestMark{})
	if err != nil {
		return err
	}
	if err := writeWatermark(made, level{seq, manifest}, 1); err != nil {
		return err
	}
	if err := os.Rename(made, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}
