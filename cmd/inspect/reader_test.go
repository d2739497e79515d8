//go:build cgo

package inspect

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// The files alone have the rows that RocksDB finds in them: of a store that was closed, and
// of one whose process was killed.
func TestTheFilesAloneHaveTheRowsOfTheStore(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "db")
	e, err := rocks.Open(closed, rocks.Options{})
	require.NoError(t, err)
	require.NoError(t, churn(e, enginetest.Random(t)))
	require.NoError(t, e.Close())
	killed, _ := killedInChurn(t)
	for name, dir := range map[string]string{"closed": closed, "killed": killed} {
		t.Run(name, func(t *testing.T) {
			r, err := diskfile.OpenReader(dir)
			require.NoError(t, err)
			e, err := rocks.Open(dir, rocks.Options{ReadOnly: true})
			require.NoError(t, err)
			defer e.Close()
			for col := range column.All {
				it, err := e.Iterate(col, engine.Range{})
				require.NoError(t, err)
				for row, err := range r.Rows(col.String(), nil, nil) {
					require.NoError(t, err)
					require.True(t, it.Next())
					require.True(t, bytes.Equal(it.Key(), row.Key) && bytes.Equal(it.Value(), row.Value), "%s %x", col, row.Key)
				}
				require.False(t, it.Next())
				require.NoError(t, it.Close())
			}
		})
	}
}

// Tables that another RocksDB has written, of format version 6 and with Snappy, are salvaged as those
// of a store are.
func TestTablesOfAnotherRocksDBAreSalvaged(t *testing.T) {
	e, out := salvaged(t, "testdata/merod/2026-08")
	require.EqualValues(t, 22, out.Tables)
	for _, f := range out.Losses {
		require.NotContains(t, []string{"block", "format"}, f.Code, f)
		if f.Code == "table" {
			require.Contains(t, f.Reason, "does not know its column family")
		}
	}
	r, err := diskfile.OpenReader("testdata/merod/2026-08")
	require.NoError(t, err)
	rows := 0
	for row, err := range r.Rows("State", nil, nil) {
		require.NoError(t, err)
		value, err := e.Get(nil, column.State, row.Key)
		require.NoError(t, err)
		require.Equal(t, string(row.Value), string(value))
		rows++
	}
	require.Equal(t, 3, rows)
}
