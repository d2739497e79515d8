package diskfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLZ4RefusesWhatItIsNot(t *testing.T) {
	got, err := unpackLZ4(nil, []byte{0x10, 'a', 1, 0, 0x50, 'b', 'c', 'd', 'e', 'f'}, 10)
	require.NoError(t, err)
	require.Equal(t, "aaaaabcdef", string(got))
	_, err = unpackLZ4(nil, make([]byte, 18), 0)
	require.ErrorIs(t, err, ErrDamaged, "it stands for nothing, and is none")
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "src")
		size := rapid.IntRange(0, 300).Draw(t, "size")
		b, err := unpackLZ4(nil, src, size)
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
			return
		}
		require.Len(t, b, size)
	})
}

func TestBlocksParseOrAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, "block")
		if rapid.Bool().Draw(t, "whole") {
			b = append(b, 0, 0, 0, 0, 1, 0, 0, 0)
		}
		for _, index := range []bool{false, true} {
			total := 0
			err := entries(b, index, func(key, value []byte) error {
				total += len(value)
				require.LessOrEqual(t, total, len(b))
				return nil
			})
			if err != nil {
				require.ErrorIs(t, err, ErrDamaged)
			}
		}
		_, err := BlobValue(t.Name(), bytes.Clone(b), b)
		require.ErrorIs(t, err, ErrDamaged)
	})
}

// A table whose end is damaged is read block by block, up to the first that has no rows.
func TestATableWithoutItsEndHasItsRowsOnly(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir, "000007.sst", "State", 3, 4)
	path := filepath.Join(dir, "000007.sst")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	clear(b[len(b)-footerSize:])
	require.NoError(t, os.WriteFile(path, b, 0o600))
	table, err := openAlone(path)
	require.NoError(t, err)
	defer table.Close()
	require.True(t, table.Scanned)
	require.Equal(t, 1, table.Blocks())
}

// A footer of another format is damage where the rest is as package rocks writes it, and
// else of a table that something else wrote, which RocksDB may know.
func TestTheEndOfATableIsOfItsWriter(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		for _, as := range []struct{ version, checks uint32 }{{version, checkXXH3}, {1, checkXXH3}, {version, 0}} {
			m := &madeTable{}
			meta := m.block(entry(nil, 0, []byte("rocksdb.nothing"), nil), blockPlain)
			index := m.block(nil, blockPlain)
			if foreign {
				at, _, _ := cutHandle(meta)
				m.b[at.offset+at.size+1]++ // a checksum of another kind
			}
			err := checkParts(m.write(t, meta, index, as.version, byte(as.checks)))
			switch ours := as.version == version && as.checks == checkXXH3; {
			case foreign && ours:
				require.ErrorContains(t, err, "the list of its properties")
			case !foreign && !ours:
				require.ErrorContains(t, err, "its footer cannot be read")
			default:
				require.NoError(t, err)
			}
		}
	}
	for _, size := range []int{0, footerSize - 1, footerSize, 3 * footerSize} {
		path := filepath.Join(t.TempDir(), "000008.sst")
		require.NoError(t, os.WriteFile(path, make([]byte, size), 0o600))
		require.NoError(t, checkParts(path), "RocksDB says that it is no table")
	}
}
