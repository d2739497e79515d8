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
	m.b = binary.LittleEndian.AppendUint32(m.b, checksum(b, kind))
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

func openAlone(path string) (*Table, error) { return OpenTable(path, new(Allowance)) }

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
		for _, open := range []func(string) (*Table, error){openAlone, OpenListedTable} {
			took := allocated(func() {
				_, err := open(path)
				require.ErrorIs(t, err, ErrDamaged)
				require.ErrorContains(t, err, "more than its size allows")
			})
			require.Less(t, took, uint64(2*(keptLeast+keptPerByte*st.Size())), "a table of %d bytes", st.Size())
		}
	}
}

// Tables that are open at once share what they may keep beyond their sizes, and give it
// back.
func TestMadeUpTablesTogetherKeepNoMoreThanTheirSizesAllow(t *testing.T) {
	key := append(bytes.Repeat([]byte("k"), keptLeast/64), typeRange, 1, 0, 0, 0, 0, 0, 0)
	deletes := entry(nil, 0, key, []byte("l"))
	for range 15 {
		deletes = entry(deletes, len(key), nil, []byte("l"))
	}
	var m madeTable
	at := m.block(deletes, blockZSTD)
	meta := m.block(entry(nil, 0, []byte("rocksdb.range_del"), at), blockPlain)
	path := m.write(t, meta, m.block(nil, blockPlain), version, checkXXH3)
	var shared Allowance
	var tables []*Table
	for range 300 {
		table, err := OpenTable(path, &shared)
		if err != nil {
			require.ErrorContains(t, err, "more than its size allows")
			continue
		}
		tables = append(tables, table)
	}
	require.NotEmpty(t, tables)
	require.Less(t, len(tables), 10)
	require.NoError(t, tables[0].Close())
	left := shared
	require.ErrorIs(t, tables[0].Close(), os.ErrClosed)
	require.Equal(t, left, shared, "it is given back once")
	again, err := OpenTable(path, &shared)
	require.NoError(t, err)
	for _, table := range append(tables[1:], again) {
		require.NoError(t, table.Close())
	}
	require.Zero(t, shared)
}

// A deletion of a range that cannot be read brings rows back: it is told of.
func TestDeletionsThatCannotBeReadAreToldOf(t *testing.T) {
	deletes := func(typ byte) []byte {
		return entry(nil, 0, append([]byte("k"), typ, 1, 0, 0, 0, 0, 0, 0), []byte("l"))
	}
	for name, c := range map[string]struct {
		deletes []byte
		damage  func(m *madeTable, at, meta []byte) (newMeta []byte)
		unread  string
	}{
		"none":            {deletes: deletes(typeRange)},
		"of another kind": {deletes: deletes(typePut), unread: "its deletions of ranges cannot be read"},
		"a flipped bit":   {deletes: deletes(typeRange), damage: func(m *madeTable, _, meta []byte) []byte { m.b[3] ^= 1; return meta }, unread: "its deletions of ranges cannot be read: diskfile: damaged at byte 0: checksum mismatch"},
		"beyond the file": {deletes: deletes(typeRange), damage: func(m *madeTable, _, _ []byte) []byte {
			return m.block(entry(nil, 0, []byte("rocksdb.range_del"), binary.AppendUvarint(binary.AppendUvarint(nil, 1<<30), 9)), blockPlain)
		}, unread: "its deletions of ranges cannot be read"},
		"nowhere": {deletes: deletes(typeRange), damage: func(m *madeTable, _, _ []byte) []byte {
			return m.block(entry(nil, 0, []byte("rocksdb.range_del"), nil), blockPlain)
		}, unread: "its deletions of ranges cannot be read"},
		"of unknown places": {deletes: deletes(typeRange), damage: func(m *madeTable, at, meta []byte) []byte { m.b[len(m.b)-8] ^= 1; return meta }, unread: "the list of its properties and deletions of ranges cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			var m madeTable
			at := m.block(c.deletes, blockPlain)
			meta := m.block(entry(nil, 0, []byte("rocksdb.range_del"), at), blockPlain)
			if c.damage != nil {
				meta = c.damage(&m, at, meta)
			}
			table, err := OpenListedTable(m.write(t, meta, m.block(nil, blockPlain), version, checkXXH3))
			require.NoError(t, err)
			defer table.Close()
			if c.unread == "" {
				require.Empty(t, table.Unread)
				require.Len(t, table.Deletes, 1)
				return
			}
			require.Len(t, table.Unread, 1)
			require.ErrorIs(t, table.Unread[0], ErrDamaged)
			require.ErrorContains(t, table.Unread[0], c.unread)
		})
	}
}

// Tables that another RocksDB has written are not damaged: they are of another format.
func TestTablesOfOtherFormatsAreNamed(t *testing.T) {
	for name, made := range map[string]struct {
		version uint32
		checks  byte
		kind    byte
	}{"version": {7, checkXXH3, blockPlain}, "of version 6 by name": {version6, checkXXH3, blockPlain}, "checksums": {version, 1, blockPlain}, "compression": {version, checkXXH3, 2}} {
		t.Run(name, func(t *testing.T) {
			var m madeTable
			index := m.block(nil, made.kind)
			path := m.write(t, m.block(nil, blockPlain), index, made.version, made.checks)
			for _, open := range []func(string) (*Table, error){openAlone, OpenListedTable} {
				_, err := open(path)
				require.ErrorIs(t, err, ErrFormat)
				require.ErrorIs(t, err, ErrDamaged)
				require.NotContains(t, err.Error(), "damaged")
			}
		})
	}
}
