package diskfile

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// madeTable is a table that was made by hand.
type madeTable struct{ b []byte }

// block appends a block of entries, compressed or not, and returns its handle.
func (m *madeTable) block(entries []byte, kind byte) []byte {
	b := binary.LittleEndian.AppendUint32(entries, 0) // the first restart
	b = binary.LittleEndian.AppendUint32(b, 1)
	if kind == blockZSTD {
		z, _ := zstd.NewWriter(nil)
		b = z.EncodeAll(b, binary.AppendUvarint(nil, uint64(len(b))))
	}
	at := len(m.b)
	m.b = append(append(m.b, b...), kind)
	m.b = binary.LittleEndian.AppendUint32(m.b, uint32(xxh3(b))^uint32(kind)*0x6b9083d9)
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(at)), uint64(len(b)))
}

// write ends the table with a footer, and returns the path of its file.
func (m *madeTable) write(t *testing.T, meta, index []byte, version uint32, checks byte) string {
	t.Helper()
	footer := append([]byte{checks}, append(meta, index...)...)
	footer = append(footer, make([]byte, footerSize-12-len(footer))...)
	footer = binary.LittleEndian.AppendUint32(footer, version)
	footer = binary.LittleEndian.AppendUint64(footer, tableMagic)
	path := filepath.Join(t.TempDir(), "000007.sst")
	require.NoError(t, os.WriteFile(path, append(m.b, footer...), 0o600))
	return path
}

func entry(b []byte, shared int, key, value []byte) []byte {
	for _, n := range []int{shared, len(key), len(value)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return append(append(b, key...), value...)
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Deletions of ranges that share a long key are a few bytes each in the file. They are
// read up to what the size of the file allows, and the table is damaged then.
func TestAMadeUpTableTakesNoMoreMemoryThanItsSizeAllows(t *testing.T) {
	const long = 1 << 20
	for _, kind := range []byte{blockPlain, blockZSTD} {
		key := append(bytes.Repeat([]byte("k"), long), typeRange, 1, 0, 0, 0, 0, 0, 0)
		deletes := entry(nil, 0, key, []byte("l"))
		for range 2000 {
			deletes = entry(deletes, len(key), nil, []byte("l"))
		}
		var m madeTable
		at := m.block(deletes, kind)
		meta := m.block(entry(nil, 0, []byte("rocksdb.range_del"), at), blockPlain)
		index := m.block(nil, blockPlain)
		path := m.write(t, meta, index, version, checkXXH3)
		st, err := os.Stat(path)
		require.NoError(t, err)
		for _, open := range []func(string) (*Table, error){OpenTable, OpenListedTable} {
			took := allocated(func() {
				_, err := open(path)
				require.ErrorIs(t, err, ErrDamaged)
				require.ErrorContains(t, err, "more than its size allows")
			})
			require.Less(t, took, uint64(2*(keptLeast+keptPerByte*st.Size())), "a table of %d bytes", st.Size())
		}
	}
}

// Tables that another RocksDB has written are not damaged: they are of another format.
func TestTablesOfOtherFormatsAreNamed(t *testing.T) {
	for name, made := range map[string]struct {
		version uint32
		checks  byte
		kind    byte
	}{"version": {6, checkXXH3, blockPlain}, "checksums": {version, 1, blockPlain}, "compression": {version, checkXXH3, 1}} {
		t.Run(name, func(t *testing.T) {
			var m madeTable
			index := m.block(nil, made.kind)
			path := m.write(t, m.block(nil, blockPlain), index, made.version, made.checks)
			for _, open := range []func(string) (*Table, error){OpenTable, OpenListedTable} {
				_, err := open(path)
				require.ErrorIs(t, err, ErrFormat)
				require.ErrorIs(t, err, ErrDamaged)
				require.NotContains(t, err.Error(), "damaged")
			}
		})
	}
}
