package fuzz

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc"
)

// subject is one of those that must answer alike.
type subject struct {
	name string
	// open returns an empty store, which may use dir: it does not exist.
	open func(t testing.TB, dir string) enginetest.DB
	// reopen opens what open has made in dir, and what is closed now, again, where
	// a sequence says so; nil: it stays open.
	reopen func(t testing.TB, dir string) enginetest.DB
}

// subjects are all of them; the first is what the others are compared with. To
// add one is to add a line. The keys that it gets are those of spaces.
func subjects() []subject {
	return append([]subject{
		{name: "mem", open: func(testing.TB, string) enginetest.DB { return mem.New() }},
		{name: "daemon", open: openDaemon(rpc.FramingFrames)},
		{name: "daemon by gRPC", open: openDaemon(rpc.FramingGRPC)},
	}, onDisk()...)
}

// store is a subject that is kept open from one input to the next.
type store struct {
	subject
	base string // where its directories are
	runs int
	db   enginetest.DB
}

func newStore(t testing.TB, s subject) *store {
	st := &store{subject: s, base: t.TempDir()}
	st.db = s.open(t, st.dir())
	return st
}

// freshAfter is how many inputs a store takes before it is made anew, so that
// what they have deleted does not pile up.
const freshAfter = 2000

func (s *store) dir() string { return filepath.Join(s.base, strconv.Itoa(s.runs/freshAfter)) }

// clear empties the store for the next input.
func (s *store) clear(t testing.TB) {
	last := s.dir()
	if s.runs++; s.dir() != last {
		require.NoError(t, s.db.Close())
		require.NoError(t, os.RemoveAll(last))
		s.db = s.open(t, s.dir())
		return
	}
	b := engine.Batch{Durability: engine.WAL}
	for _, sp := range spaces {
		it, err := s.db.Iterate(sp.col, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			b.Delete(sp.col, it.Key())
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
	}
	require.NoError(t, s.db.Apply(&b))
}
