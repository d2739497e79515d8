// Package enginetest tests that an engine keeps the contract of package engine.
//
// Start at Run. One suite serves every implementation: what holds for
// engine/mem holds for engine/rocks and for the client of package rpc.
package enginetest

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// DB is what is tested: an engine.Engine, or a client of one. Update and
// engine.Maintenance are tested too where a DB has them.
type DB interface {
	engine.Reader
	engine.Writer
	io.Closer
	// Snapshot is engine.Engine's.
	Snapshot() (engine.Snapshot, error)
}

// updater is a DB with engine.Engine's Update.
type updater interface {
	Update(fn func(engine.Getter, *engine.Batch) error) error
}

// Config says what Run tests. Open and Space.Columns are required.
type Config struct {
	// Open returns a DB whose space is empty. Run closes it.
	Open func(t testing.TB) DB
	// Reopen opens the data of db, which Run has closed, again. nil: closing a DB
	// loses its data, and what outlives a DB is not tested.
	Reopen func(t testing.TB, db DB) DB
	// Space is where the suite writes.
	Space KeySpace
	// Limits are what the DB allows beyond the limits of package engine.
	Limits Limits
}

// KeySpace is the part of a store that the suite keeps to. Values are free.
type KeySpace struct {
	// Columns are those that are used, at least one.
	Columns []column.Column
	// Prefix starts every key. Where it is empty, ranges without bounds are
	// tested too.
	Prefix []byte
	// MaxKey is the length of the longest key, Prefix included; 0: engine.MaxKey.
	MaxKey int
}

// Limits are those of a DB, as a client that shares its daemon with others has.
// The zero Limits are what an engine allows.
type Limits struct {
	Snapshots int // open at once; 0: 100
	Lookups   int // of one MultiGet; 0: 10,000
}

// Run runs the suite, one subtest per promise of the contract. They run side by side,
// each with a DB of its own: Open and Reopen are called concurrently.
func Run(t *testing.T, c Config) {
	require.NotNil(t, c.Open, "Config.Open")
	require.NotEmpty(t, c.Space.Columns, "Config.Space.Columns")
	fill(&c.Space.MaxKey, engine.MaxKey)
	fill(&c.Limits.Snapshots, 100)
	fill(&c.Limits.Lookups, 10_000)
	for _, group := range [][]promise{points, sizes, batches, ranges, iterators, snapshots, lookups, guards, contention, closing} {
		run(t, c, group)
	}
	t.Run(random.name, func(t *testing.T) { random.test(start(t, &c)) }) // alone, as Check says
	t.Run("update", func(t *testing.T) {
		if _, ok := start(t, &c).db.(updater); !ok {
			t.Log("not tested: the DB has no Update")
			return
		}
		run(t, c, updates)
	})
	t.Run("maintenance", func(t *testing.T) {
		if _, ok := start(t, &c).db.(engine.Maintenance); !ok {
			t.Log("not tested: the DB is no engine.Maintenance")
			return
		}
		run(t, c, maintenance)
	})
	t.Run("reopen", func(t *testing.T) {
		if c.Reopen == nil {
			t.Log("not tested: the Config has no Reopen")
			return
		}
		run(t, c, reopening)
	})
}

// promise is one thing that the contract says, and its test.
type promise struct {
	name string
	test func(*trial)
}

func run(t *testing.T, c Config, group []promise) {
	for _, p := range group {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.test(start(t, &c))
		})
	}
}

// start opens a DB for one subtest, which closes it at its end.
func start(t *testing.T, c *Config) *trial {
	tr := &trial{T: t, cfg: c, db: c.Open(t), col: c.Space.Columns[0]}
	tr.Cleanup(func() {
		if err := tr.db.Close(); !errors.Is(err, engine.ErrClosed) {
			require.NoError(t, err, "close")
		}
	})
	return tr
}

func fill(n *int, value int) {
	if *n == 0 {
		*n = value
	}
}
