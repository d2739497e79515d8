package diskfile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// editBytes returns a version edit as RocksDB writes it.
func editBytes(family uint32, log, sequence uint64, deleted []uint64, tables ...added) (b []byte) {
	number := func(vs ...uint64) {
		for _, v := range vs {
			b = binary.AppendUvarint(b, v)
		}
	}
	part := func(s string) {
		number(uint64(len(s)))
		b = append(b, s...)
	}
	if log > 0 {
		number(fieldLogNumber, log)
	}
	number(fieldPrevLog, 0, fieldNextFile, 99, fieldLastSequence, sequence)
	for _, n := range deleted {
		number(fieldDeletedFile, 0, n)
	}
	for _, a := range tables {
		number(fieldNewFile, uint64(a.Level), a.number, a.Size)
		part("smallest")
		part("largest")
		number(a.First, a.Last, 5)
		part("time")
		number(newFileEnd)
	}
	number(fieldBlobFile, 3, 1, 2)
	part("method")
	part("sum")
	number(blobFileEnd, fieldBlobGarbage, 3, 1, 2, blobFileEnd)
	number(fieldIgnorable + 99)
	part("whatever comes")
	if family > 0 {
		number(fieldFamily, uint64(family))
	}
	return b
}

func addFamily(id uint32, name string) []byte {
	b := append(binary.AppendUvarint(nil, fieldFamilyAdd), byte(len(name)))
	b = append(b, name...)
	return binary.AppendUvarint(binary.AppendUvarint(b, fieldFamily), uint64(id))
}

func logEdit(field uint64, numbers ...uint64) []byte {
	var part []byte
	for _, n := range numbers {
		part = binary.AppendUvarint(part, n)
	}
	b := binary.AppendUvarint(nil, field)
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

// writeManifest makes a directory with a manifest of these records, and returns it.
func writeManifest(t testing.TB, records ...[]byte) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "MANIFEST-000005"), writeLog(records), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("MANIFEST-000005\n"), 0o600))
	return dir
}

func TestManifestIsTheSumOfItsEdits(t *testing.T) {
	table := func(number, first, last uint64) added { return added{number, ListedTable{1, 500, first, last}} }
	dir := writeManifest(t,
		editBytes(0, 4, 10, nil),
		addFamily(1, "Meta"), addFamily(2, "State"),
		editBytes(2, 8, 30, nil, table(7, 11, 20), table(9, 21, 30)),
		editBytes(2, 0, 30, []uint64{7, 9}, table(9, 21, 30), table(12, 0, 0)),
		logEdit(fieldLogSynced, 8, logSyncedSize, 99, 1), logEdit(fieldLogSynced, 12, logSyncedSize, 77, 1), logEdit(fieldLogsGone, 12),
		editBytes(1, 12, 40, nil, table(13, 35, 40)),
	)
	m, err := ReadManifest(dir)
	require.NoError(t, err)
	require.EqualValues(t, 5, m.Number)
	require.EqualValues(t, 40, m.LastSequence)
	require.Equal(t, map[uint32]string{0: "default", 1: "Meta", 2: "State"}, m.Names())
	require.Equal(t, map[uint64]ListedTable{9: {1, 500, 21, 30}, 12: {1, 500, 0, 0}}, m.Families[2].Tables)
	require.EqualValues(t, 8, m.Families[2].Log)
	require.EqualValues(t, 12, m.Families[1].Log)
	require.Equal(t, map[uint64]uint64{12: 77}, m.Logs)
	st, err := os.Stat(filepath.Join(dir, "MANIFEST-000005"))
	require.NoError(t, err)
	require.Equal(t, st.Size(), m.End)
	require.False(t, m.Torn)

	path := filepath.Join(dir, "MANIFEST-000005")
	require.NoError(t, os.Truncate(path, m.End-1))
	cut, err := ReadManifest(dir)
	require.NoError(t, err)
	require.True(t, cut.Torn)
	require.Less(t, cut.End, m.End-1)
	require.Empty(t, cut.Families[1].Tables)

	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[50] ^= 1
	require.NoError(t, os.WriteFile(path, b, 0o600))
	_, err = ReadManifest(dir)
	require.ErrorIs(t, err, ErrDamaged)
	for _, current := range []string{"", "MANIFEST-000005", "MANIFEST-5x\n", "../MANIFEST-000005\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "CURRENT"), []byte(current), 0o600))
		m, err := ReadManifest(dir)
		require.ErrorIs(t, err, ErrDamaged)
		require.Equal(t, "default", m.Families[0].Name)
	}
}

func TestEditsParseOrAreRefused(t *testing.T) {
	whole := editBytes(3, 4, 5, []uint64{6}, added{7, ListedTable{1, 2, 3, 4}})
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "edit")
		if rapid.Bool().Draw(t, "cut") {
			b = whole[:rapid.IntRange(0, len(whole)-1).Draw(t, "at")]
		}
		if _, err := parseEdit(b); err != nil {
			require.ErrorIs(t, err, ErrDamaged)
		}
	})
	e, err := parseEdit(whole)
	require.NoError(t, err)
	require.Equal(t, edit{family: 3, logNumber: 4, lastSequence: 5, sequenced: true, deleted: []uint64{6}, added: []added{{7, ListedTable{1, 2, 3, 4}}}}, e)
	_, err = parseEdit(binary.AppendUvarint(nil, 299))
	require.ErrorContains(t, err, "299")
}

// A log that grows has its boundary where its last whole record ends, whatever was
// looked at before.
func TestBoundaryIsBehindTheLastWholeRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	rapid.Check(t, func(t *rapid.T) {
		log := writeLog(drawRecords(t))
		require.NoError(t, os.WriteFile(path, log, 0o600))
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		from := int64(0)
		for range 4 {
			size := rapid.Int64Range(from, int64(len(log))).Draw(t, "size")
			want := int64(0)
			for r, err := range Log(f) {
				require.NoError(t, err)
				if r.End <= size {
					want = r.End
				}
			}
			_, err := f.Seek(0, 0)
			require.NoError(t, err)
			got, err := Boundary(f, from, size)
			require.NoError(t, err)
			require.Equal(t, want, got)
			from = got
		}
	})
}
