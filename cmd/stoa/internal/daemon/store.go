package daemon

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/rpc/server"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// store is an open engine and what is told of it.
type store struct {
	engine.Engine
	info      server.Info
	node      codec.NodeID
	lastClose string // how it had been closed, for the log
	lost      uint64 // changes that had been on disk and are gone
	// refuse says why no call is answered, of a daemon that waits for a store; nil: calls are.
	refuse func() error
	// leadLost is closed when another daemon leads the store; nil: this one has it alone.
	leadLost <-chan struct{}
	// sharedRows has what clients read rows with; nil: nothing.
	sharedRows server.SharedRows
}

// open opens the engine that the settings name.
func (s *settings) open(log *slog.Logger) (*store, error) {
	if s.engine == "mem" && !s.sealKey.IsZero() {
		return nil, cli.Bad(errors.New("--engine mem keeps nothing that could be sealed"), "")
	}
	if s.engine == "mem" {
		return s.openMem()
	}
	e, err := rocks.Open(s.dir, s.rocks(log))
	if failed := cli.Unfinished(s.dir, err); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, cli.CannotOpen(err)
	}
	r := e.Recovery()
	secrets, note, err := cli.Unseal(e, s.sealKey, log)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if note != "" {
		r.Problems = append(slices.Clip(r.Problems), note)
	}
	info := s.info(e.NodeID(), e.SchemaVersion())
	info.Recovery = recovered(r)
	info.Disk = func() (free, reserve uint64, err error) { return diskSpace(s.dir, uint64(s.minFree)) }
	st := &store{Engine: secrets, node: e.NodeID(), lastClose: "unclean", lost: r.Lost, info: info, sharedRows: e}
	switch {
	case r.Created:
		st.lastClose = "new"
	case r.Clean:
		st.lastClose = "clean"
	}
	return st, nil
}

// openMem opens an engine in memory.
func (s *settings) openMem() (*store, error) {
	if err := s.makeDirectory(); err != nil {
		return nil, err
	}
	node := randomNode()
	return &store{Engine: mem.New(), node: node, lastClose: "new", info: s.info(node, rocks.SchemaVersion)}, nil
}

// makeDirectory makes the directory that the socket is in, of a store that is elsewhere.
func (s *settings) makeDirectory() error {
	_, err := os.Stat(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = rocks.CheckPlace(s.dir)
	}
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err != nil {
		if errors.Is(err, syscall.ENOTDIR) {
			err = fmt.Errorf("%w: %w", engine.ErrNotDatabase, err)
		}
		return cli.CannotOpen(fmt.Errorf("--dir: %w", err))
	}
	return nil
}

// info is what the daemon tells of itself.
func (s *settings) info(node codec.NodeID, schema uint32) server.Info {
	v := cli.BuildVersion()
	return server.Info{
		Version: v.Version, Commit: v.Source(), Date: v.Date,
		Engine: s.engine, NodeID: node.Hex(), SchemaVersion: schema,
	}
}

// randomNode returns an id for a node that has no store to keep one.
func randomNode() (id codec.NodeID) {
	var b [16]byte
	for id.IsZero() {
		_, _ = rand.Read(b[:]) // never fails
		id = codec.NodeID{Hi: binary.BigEndian.Uint64(b[:]), Lo: binary.BigEndian.Uint64(b[8:])}
	}
	return id
}

// recovered returns what was found at open as Admin.Status tells it.
func recovered(r rocks.Recovery) *stoav1.Recovery {
	notes := r.Problems
	if r.Created {
		notes = append([]string{"the store was made at this start"}, notes...)
	}
	if r.Lost > 0 {
		notes = append(notes, fmt.Sprintf("%s that had been on disk are gone", cli.Count(r.Lost, "change")))
	}
	if r.Cut != "" {
		notes = append(notes, r.Cut)
	}
	notes = slices.Concat(notes, r.Unlisted, r.Logs, r.Left)
	return &stoav1.Recovery{
		Clean: r.Clean || r.Created, Sequence: r.Sequence, SyncedSequence: max(r.Watermark, r.Sequence), Notes: notes,
	}
}

// diskSpace returns what a user without privileges may still write to the file
// system of dir, and what is kept of it.
func diskSpace(dir string, keep uint64) (free, reserve uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return s.Bavail * uint64(s.Bsize), keep, nil
}
