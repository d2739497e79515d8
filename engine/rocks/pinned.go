//go:build cgo

package rocks

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// pinned is a directory that shows a store, which a process goes on writing to, as it
// is at one moment: a copy of the manifest, and links to files that are held open, so
// that they can be opened again by whoever reads here, after they were deleted there.
//
// RocksDB's secondary instance is no help where there are blob files: the first value
// that it reads of one ends the process, since what it makes keys of a cache from is
// gone by then (facebook/rocksdb issue 13248), and it has no hold on them.
type pinned struct {
	dir   string
	files map[string]*os.File // by name

	lengths map[string]int64 // of files that are shown in part only, as copies; nil: somebody writes to the directory
}

// hasBlobFiles reports whether a directory has files of large values.
func hasBlobFiles(dir string) bool { return len(numbered(dir, ".blob")) > 0 }

// pin shows dir in a new directory below scratch, or below that for temporary files if
// that is empty; of the files that lengths names, only so much: it is nil where a process writes
// to dir. It is ErrCorrupt if a file went while
// it was being looked at: then it may be tried again.
func pin(dir, scratch string, lengths map[string]int64) (p *pinned, err error) {
	p = &pinned{files: map[string]*os.File{}, lengths: lengths}
	if p.dir, err = os.MkdirTemp(scratch, "view-*"); err != nil {
		return nil, fmt.Errorf("engine: open %s: %w", dir, err)
	}
	// What the manifest names was there before it was copied, or came meanwhile.
	if err = p.hold(dir); err == nil {
		err = p.copyManifest(dir)
	}
	if err == nil {
		err = p.hold(dir)
	}
	if err == nil {
		return p, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", engine.ErrCorrupt, err)
	}
	return nil, errors.Join(fmt.Errorf("engine: open %s: %w", dir, err), p.close())
}

// hold opens the tables, blob files and logs of dir that are not held yet.
func (p *pinned) hold(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch filepath.Ext(name) {
		case ".sst", ".blob", ".log":
		default:
			continue
		}
		if !e.Type().IsRegular() || p.files[name] != nil {
			continue
		}
		if p.lengths != nil {
			if err := p.show(dir, name); err != nil {
				return err
			}
			continue
		}
		f, err := diskfile.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // if it is wanted, opening the database fails
		}
		if err != nil {
			return err
		}
		p.files[name] = f
		if err := os.Symlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), filepath.Join(p.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// show is hold for a file of a directory that nobody writes to: it stays there, or is
// shown in part.
func (p *pinned) show(dir, name string) error {
	_, there := p.files[name]
	p.files[name] = nil
	length, inPart := p.lengths[name]
	switch {
	case there || inPart && length == 0:
		return nil
	case inPart:
		return p.copy(dir, name)
	}
	return os.Symlink(filepath.Join(dir, name), filepath.Join(p.dir, name))
}

// copyManifest copies the manifest and what names it.
func (p *pinned) copyManifest(dir string) error {
	manifest, _, err := diskfile.CurrentManifest(dir)
	if err != nil {
		return err
	}
	name := filepath.Base(manifest)
	if err := p.copy(dir, name); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.dir, "CURRENT"), []byte(name+"\n"), 0o600); err != nil {
		return err
	}
	err = p.copy(dir, "IDENTITY")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // RocksDB says what it thinks of that
	}
	return err
}

func (p *pinned) copy(dir, name string) error {
	from, err := diskfile.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(p.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	var content io.Reader = from
	if length, inPart := p.lengths[name]; inPart {
		content = io.LimitReader(from, length)
	}
	_, err = io.Copy(to, content)
	return errors.Join(err, to.Close())
}

// settle lets go of what the database has open itself once it is open: only blob files
// are opened when they are read.
func (p *pinned) settle() {
	for name, f := range p.files {
		if f != nil && !strings.HasSuffix(name, ".blob") {
			_ = f.Close() // it was only read
			delete(p.files, name)
		}
	}
}

// close lets go of everything.
func (p *pinned) close() error {
	if p == nil {
		return nil
	}
	for _, f := range p.files {
		if f != nil {
			_ = f.Close() // it was only read
		}
	}
	return os.RemoveAll(p.dir)
}
