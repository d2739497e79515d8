//go:build cgo

package rocks_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
)

func TestConformance(t *testing.T) {
	var dirs = map[enginetest.DB]string{}
	open := func(t testing.TB, dir string) enginetest.DB {
		e, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		dirs[e] = dir
		return e
	}
	enginetest.Run(t, enginetest.Config{
		Open: func(t testing.TB) enginetest.DB { return open(t, filepath.Join(t.TempDir(), "db")) },
		Reopen: func(t testing.TB, db enginetest.DB) enginetest.DB {
			return open(t, dirs[db])
		},
		Space: enginetest.KeySpace{Columns: slices.Collect(column.All)},
	})
}
