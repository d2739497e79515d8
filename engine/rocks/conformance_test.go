//go:build cgo

package rocks_test

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
)

func TestConformance(t *testing.T) {
	enginetest.SkipUnderRace(t, "with a row cache goroutines share all that they share without one, and more")
	conform(t, rocks.Options{})
}

// TestConformanceWithARowCache is the same with a cache that is too small for what
// is read.
func TestConformanceWithARowCache(t *testing.T) { conform(t, rocks.Options{RowCacheBytes: 1 << 20}) }

func conform(t *testing.T, o rocks.Options) {
	var dirs sync.Map // of a DB
	open := func(t testing.TB, dir string) enginetest.DB {
		e, err := rocks.Open(dir, o)
		require.NoError(t, err)
		dirs.Store(e, dir)
		return e
	}
	enginetest.Run(t, enginetest.Config{
		Open: func(t testing.TB) enginetest.DB { return open(t, filepath.Join(t.TempDir(), "db")) },
		Reopen: func(t testing.TB, db enginetest.DB) enginetest.DB {
			dir, ok := dirs.Load(db)
			require.True(t, ok)
			return open(t, dir.(string))
		},
		Space: enginetest.KeySpace{Columns: slices.Collect(column.All)},
	})
}
