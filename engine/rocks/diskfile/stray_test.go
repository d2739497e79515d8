package diskfile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeTable puts a table of a family into dir, with a row for each of these sequences.
func writeTable(t *testing.T, dir, name, family string, sequences ...uint64) {
	t.Helper()
	internal := func(key byte, seq uint64) []byte {
		return binary.LittleEndian.AppendUint64([]byte{key}, seq<<8|typePut)
	}
	var rows []byte
	for i, seq := range sequences {
		rows = entry(rows, 0, internal(byte('a'+i), seq), []byte("v"))
	}
	var m madeTable
	data := m.block(rows, blockPlain)
	properties := m.block(entry(nil, 0, []byte("rocksdb.column.family.name"), []byte(family)), blockPlain)
	meta := m.block(entry(nil, 0, []byte("rocksdb.properties"), properties), blockPlain)
	index := m.block(append(append([]byte{0, 9}, internal('z', 1)...), data...), blockPlain)
	require.NoError(t, os.Rename(m.write(t, meta, index, version, checkXXH3), filepath.Join(dir, name)))
}

// A table that is not listed is told of with the changes that are nowhere else: those that
// are newer than all that its own family has had in tables.
func TestStraysHaveWhatTheirFamilyHasNowhereElse(t *testing.T) {
	dir := writeManifest(t, editBytes(0, 4, 10, nil), addFamily(1, "Meta"), addFamily(2, "State"),
		editBytes(2, 4, 30, nil, added{9, ListedTable{1, 500, 11, 30}}))
	writeTable(t, dir, "000011.sst", "State", 25, 28, 12) // a compaction has made it, and has not listed it
	writeTable(t, dir, "000012.sst", "Meta", 25, 28, 12)
	writeTable(t, dir, "000013.sst", "State", 29, 33, 32)
	m, err := ReadManifest(dir)
	require.NoError(t, err)
	strays, err := m.Strays(dir)
	require.NoError(t, err)
	for i := range strays {
		strays[i].File = File{Number: strays[i].Number}
	}
	require.Equal(t, []Stray{
		{File: File{Number: 12}, Family: "Meta", Changes: 3, First: 12, Last: 28},
		{File: File{Number: 13}, Family: "State", Changes: 2, First: 32, Last: 33},
	}, strays)
}
