// Package enginetest is the conformance suite of engines: what package engine
// promises, as tests that every implementation passes, in memory, on RocksDB and
// over a socket.
//
// Start at Run. Model is the naive store that random operations are compared
// with.
package enginetest

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// DB is what an engine and the client of a daemon have in common.
type DB interface {
	engine.Reader
	engine.Writer
	Snapshot() (engine.Snapshot, error)
	Close() error
}

// Updater is a DB that takes read-modify-writes. Those that are one are tested
// as one.
type Updater interface {
	Update(fn func(engine.Getter, *engine.Batch) error) error
}

// Space is where the suite may write: keys of Columns that start with Prefix.
type Space struct {
	Columns []column.Column // at least one; more are used if given
	Prefix  []byte
}

// Config says what is tested.
type Config struct {
	// Open returns an empty DB. The suite closes it.
	Open func(t testing.TB) DB
	// Reopen closes a DB and opens the same data again. nil: the data does not
	// outlive the DB.
	Reopen func(t testing.TB, db DB) DB
	// Space is where the suite may write.
	Space Space
}

// Engines is the space of an engine: several columns, whole.
func Engines() Space {
	return Space{Columns: []column.Column{column.State, column.Generic, column.Group, column.Meta}}
}

// Scale returns n times the environment's STOA_TEST_SCALE, a decimal fraction,
// which slow runs as those under the race detector set below 1; at least 1.
func Scale(n int) int {
	if s, err := strconv.ParseFloat(os.Getenv("STOA_TEST_SCALE"), 64); err == nil && s > 0 {
		return max(1, int(s*float64(n)))
	}
	return n
}

// Run runs the suite.
func Run(t *testing.T, c Config) {
	require.NotEmpty(t, c.Space.Columns)
	for _, group := range []struct {
		name string
		test func(*testing.T, *fixture)
	}{
		{"values", values}, {"limits", limits}, {"deletes", deletes}, {"multiget", multiGet},
		{"ranges", ranges}, {"iterators", iterators}, {"snapshots", snapshots},
		{"batches", batches}, {"guards", guards}, {"updates", updates}, {"races", races},
		{"model", model}, {"closing", closing}, {"reopening", reopening},
	} {
		t.Run(group.name, func(t *testing.T) {
			db := c.Open(t)
			f := &fixture{t: t, config: c, db: db, col: c.Space.Columns[0]}
			defer func() { f.db.Close() }() // closed already by some tests
			group.test(t, f)
		})
	}
}

// fixture is an open DB and shorthands that fail the test.
type fixture struct {
	t      testing.TB
	config Config
	db     DB
	col    column.Column
}

// key returns the bytes of a key of the space.
func (f *fixture) key(s string) []byte {
	return append(append([]byte{}, f.config.Space.Prefix...), s...)
}

// all is the range of the space.
func (f *fixture) all() engine.Range { return engine.Prefixed(f.config.Space.Prefix) }

func (f *fixture) apply(change func(*engine.Batch)) {
	f.t.Helper()
	require.NoError(f.t, f.db.Apply(made(change)))
}

func made(change func(*engine.Batch)) *engine.Batch {
	b := &engine.Batch{Durability: engine.WAL}
	change(b)
	return b
}

func (f *fixture) put(pairs ...string) {
	f.t.Helper()
	f.apply(func(b *engine.Batch) {
		for i := 0; i < len(pairs); i += 2 {
			b.Put(f.col, f.key(pairs[i]), []byte(pairs[i+1]))
		}
	})
}

// has fails unless value is what r has under key.
func (f *fixture) has(r engine.Getter, key, value string) {
	f.t.Helper()
	got, err := r.Get(nil, f.col, f.key(key))
	require.NoError(f.t, err, "get %q", key)
	require.Equal(f.t, value, string(got), "get %q", key)
}

func (f *fixture) lacks(r engine.Getter, key string) {
	f.t.Helper()
	_, err := r.Get(nil, f.col, f.key(key))
	require.ErrorIs(f.t, err, engine.ErrNotFound, "get %q", key)
}

// scan returns the keys, without the prefix of the space, and the values of a
// range, one after the other.
func (f *fixture) scan(r engine.Reader, rg engine.Range) []string {
	f.t.Helper()
	return f.scanIn(r, f.col, rg)
}

func (f *fixture) scanIn(r engine.Reader, col column.Column, rg engine.Range) []string {
	f.t.Helper()
	it, err := r.Iterate(col, rg)
	require.NoError(f.t, err)
	pairs := []string{}
	for it.Next() {
		pairs = append(pairs, string(it.Key()[len(f.config.Space.Prefix):]), string(it.Value()))
	}
	require.NoError(f.t, it.Err())
	require.NoError(f.t, it.Close())
	return pairs
}
