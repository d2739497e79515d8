//go:build cgo

package rocks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThreadsThatOpenTablesGrowWithTheirNumber(t *testing.T) {
	dir := t.TempDir()
	tables := 0
	for _, c := range []struct{ tables, threads int }{{0, 1}, {31, 1}, {32, 2}, {480, 16}, {600, 16}} {
		for ; tables < c.tables; tables++ {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.sst", tables)), nil, 0o600))
		}
		require.Equal(t, c.threads, openers(dir), "of %d tables", c.tables)
	}
	require.Equal(t, 1, openers(filepath.Join(dir, "missing")))
}
