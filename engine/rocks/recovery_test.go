//go:build cgo

package rocks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

const damagedRows = 200

// crashed returns the directory of a store that was killed with damagedRows
// synced rows in its log, all of them covered by the watermark, and the sequence
// of the last.
func crashed(t *testing.T) (dir string, last uint64) {
	t.Helper()
	e := open(t, t.TempDir(), Options{WatermarkEvery: 10 * time.Millisecond})
	for i := range damagedRows {
		put(t, e, engine.Synced, column.State, ctx(i), fmt.Sprint(i))
	}
	s, err := e.Stats()
	require.NoError(t, err)
	waitForWatermark(t, e.dir, s.Sequence)
	return crash(t, e), s.Sequence
}

func waitForWatermark(t *testing.T, dir string, sequence uint64) {
	t.Helper()
	require.Eventually(t, func() bool {
		at, _ := readWatermark(dir)
		return at.sequence == sequence
	}, 5*time.Minute, time.Millisecond)
}

// requireRows demands that the rows are all there.
func requireRows(t *testing.T, r engine.Reader, n int) {
	t.Helper()
	rows := list(t, r, column.State, engine.Range{})
	require.Len(t, rows, n)
	for i, row := range rows {
		require.Equal(t, fmt.Sprintf("%s=%d", ctx(i), i), row)
	}
}

func flip(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[at] ^= 1 << (at % 8)
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

func size(t *testing.T, path string) int {
	t.Helper()
	st, err := os.Stat(path)
	require.NoError(t, err)
	return int(st.Size())
}

func TestKilledStoreHasEverything(t *testing.T) {
	dir, last := crashed(t)
	e := open(t, dir, Options{})
	requireRows(t, e, damagedRows)
	require.Equal(t, Recovery{Mode: TolerateTail, Watermark: last, Sequence: last}, e.Recovery())
}

func TestFlippedLogIsReportedOrHarmless(t *testing.T) {
	t.Parallel()
	random := enginetest.Random(t)
	dir, _ := crashed(t)
	reported := 0
	for i := 0; i < enginetest.Scale(100) || reported == 0 && i < 100; i++ {
		hurt := copyDir(t, dir)
		log := newest(t, hurt, ".log")
		at := random.IntN(size(t, log))
		flip(t, log, at)
		before := files(t, hurt)
		e, err := Open(hurt, Options{})
		if err != nil {
			require.ErrorIs(t, err, engine.ErrCorrupt, "byte %d", at)
			require.Equal(t, before, files(t, hurt), "byte %d", at)
			reported++
			continue
		}
		requireRows(t, e, damagedRows)
		require.NoError(t, e.Close())
	}
	require.NotZero(t, reported)
}

func TestDamagedLogNamesSalvage(t *testing.T) {
	dir, _ := crashed(t)
	log := newest(t, dir, ".log")
	flip(t, log, size(t, log)/2)
	for _, o := range []Options{{}, {AcceptLoss: true}, {ReadOnly: true}} {
		_, err := Open(dir, o)
		require.ErrorIs(t, err, engine.ErrCorrupt)
		require.ErrorContains(t, err, "stoa salvage "+dir)
		require.ErrorContains(t, err, "nothing was changed")
	}
}

func TestTruncatedLogIsReportedByTheWatermark(t *testing.T) {
	t.Parallel()
	random := enginetest.Random(t)
	dir, last := crashed(t)
	whole := size(t, newest(t, dir, ".log"))
	cuts := []int{0, whole - 1}
	for range enginetest.Scale(30) {
		cuts = append(cuts, random.IntN(whole))
	}
	for _, cut := range cuts {
		hurt := copyDir(t, dir)
		require.NoError(t, os.Truncate(newest(t, hurt, ".log"), int64(cut)))
		before := files(t, hurt)
		_, err := Open(hurt, Options{})
		require.ErrorIs(t, err, engine.ErrCorrupt, "cut at %d", cut)
		require.Equal(t, before, files(t, hurt))

		ro := open(t, hurt, Options{ReadOnly: true})
		lost := ro.Recovery().Lost
		require.NotZero(t, lost)
		require.ErrorContains(t, err, fmt.Sprintf("sequence %d", last-lost))
		require.ErrorContains(t, err, fmt.Sprintf("had %d ", last))
		require.ErrorContains(t, err, fmt.Sprintf(": %d changes", lost))
		requireRows(t, ro, damagedRows-int(lost))

		e := open(t, hurt, Options{AcceptLoss: true})
		require.Equal(t, Recovery{Mode: TolerateTail, Watermark: last, Sequence: last - lost, Lost: lost}, e.Recovery())
		requireRows(t, e, damagedRows-int(lost))
		require.NoError(t, e.Close())
		require.Zero(t, open(t, hurt, Options{}).Recovery().Lost, "accepted once")
	}
}

func TestMissingLogIsReportedByTheWatermark(t *testing.T) {
	dir, last := crashed(t)
	require.NoError(t, os.Remove(newest(t, dir, ".log")))
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, fmt.Sprintf("had %d ", last))
	e := open(t, dir, Options{AcceptLoss: true})
	require.EqualValues(t, damagedRows, e.Recovery().Lost)
	require.False(t, e.NodeID().IsZero())
}

// A column that is seldom written to keeps old logs alive, of which the sequence
// that a store ends at says nothing.
func TestMissingOrCutOlderLogIsReported(t *testing.T) {
	e := open(t, t.TempDir(), Options{WatermarkEvery: 10 * time.Millisecond})
	put(t, e, engine.Synced, column.Group, "cold", "v")
	for range 2 { // each flush begins a new log
		put(t, e, engine.WAL, column.Meta, "k", "v")
		require.NoError(t, e.st.flush(column.Meta))
	}
	put(t, e, engine.Synced, column.Meta, "k", "last")
	waitForWatermark(t, e.dir, e.st.written.Load())
	dir := crash(t, e)
	logs, err := filepath.Glob(filepath.Join(dir, "[0-9]*.log"))
	require.NoError(t, err)
	require.Len(t, logs, 3)
	for name, damage := range map[string]func(string) error{
		"missing": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, int64(size(t, path)-1)) },
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"of a record that is longer": func(path string) error {
			b, err := os.ReadFile(path)
			b[5] ^= 0x20 // the high byte of its length
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		},
	} {
		hurt := copyDir(t, dir)
		require.NoError(t, damage(filepath.Join(hurt, filepath.Base(logs[0]))))
		before := files(t, hurt)
		_, err := Open(hurt, Options{})
		require.ErrorIs(t, err, engine.ErrCorrupt, name)
		require.ErrorContains(t, err, "stoa salvage "+hurt, name)
		require.Equal(t, before, files(t, hurt), name)
		if name != "of a record that is longer" {
			continue // RocksDB refuses these, whatever the options
		}
		require.Len(t, open(t, hurt, Options{ReadOnly: true}).Recovery().Logs, 1)
		accepted := open(t, hurt, Options{AcceptLoss: true})
		require.Len(t, accepted.Recovery().Logs, 1)
		_, err = accepted.Get(nil, column.Group, []byte("cold"))
		require.ErrorIs(t, err, engine.ErrNotFound)
		require.NoError(t, accepted.Close())
		require.Empty(t, open(t, hurt, Options{}).Recovery().Logs, "accepted once")
	}
	whole := open(t, dir, Options{})
	require.Equal(t, "v", get(t, whole, column.Group, "cold"))
	require.Equal(t, "last", get(t, whole, column.Meta, "k"))
}

// What a kill leaves has everything that was acknowledged as synced, and says so: there
// is no moment behind an acknowledgement at which a log that is cut off goes unnoticed.
func TestLogCutAnywhereAfterAKillIsReported(t *testing.T) {
	t.Parallel()
	random := enginetest.Random(t)
	e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
	for i := range damagedRows {
		put(t, e, engine.Synced, column.State, ctx(i), fmt.Sprint(i))
	}
	dir := crash(t, e)
	whole := size(t, newest(t, dir, ".log"))
	cuts := []int{0, whole - 1}
	for range enginetest.Scale(30) {
		cuts = append(cuts, random.IntN(whole))
	}
	for _, cut := range cuts {
		hurt := copyDir(t, dir)
		require.NoError(t, os.Truncate(newest(t, hurt, ".log"), int64(cut)))
		_, err := Open(hurt, Options{})
		require.ErrorIs(t, err, engine.ErrCorrupt, "cut at %d of %d", cut, whole)
		require.ErrorContains(t, err, "changes are lost")
	}
	// A power loss may leave less of the mark, and it may tear it.
	path := filepath.Join(dir, watermarkName)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, left := range map[string][]byte{
		"an older one": append(b[:slots*slotSize:slots*slotSize], b[:slotSize]...),
		"none":         b[:slots*slotSize],
		"a torn one":   append(b[:slots*slotSize+17:slots*slotSize+17], make([]byte, slotSize-17)...),
	} {
		hurt := copyDir(t, dir)
		require.NoError(t, os.WriteFile(filepath.Join(hurt, watermarkName), left, 0o600))
		e := open(t, hurt, Options{})
		requireRows(t, e, damagedRows)
		require.Empty(t, e.Recovery().Problems, name)
	}
}

// A record that a power loss cut short, and that nobody was told of, is dropped.
func TestTornTailBeyondTheWatermarkIsDropped(t *testing.T) {
	e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
	for i := range 10 {
		put(t, e, engine.WAL, column.State, ctx(i), fmt.Sprint(i))
	}
	dir := crash(t, e)
	log := newest(t, dir, ".log")
	require.NoError(t, os.Truncate(log, int64(size(t, log)-3)))
	e = open(t, dir, Options{})
	requireRows(t, e, 9)
	require.Zero(t, e.Recovery().Lost)
}

func TestMarkerIsThereExactlyWhileClosed(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, Options{})
	require.NoFileExists(t, filepath.Join(dir, markerName))
	put(t, e, engine.WAL, column.State, ctx(0), "0")
	require.NoError(t, e.Close())
	m, ok, _ := readMarker(dir)
	require.True(t, ok)
	require.Equal(t, marker{SchemaVersion, 3}, m)
	at, _ := readWatermark(dir)
	require.EqualValues(t, 3, at.sequence)

	e = open(t, dir, Options{ReadOnly: true})
	require.FileExists(t, filepath.Join(dir, markerName))
	require.NoError(t, e.Close())
	e = open(t, dir, Options{})
	require.NoFileExists(t, filepath.Join(dir, markerName))
	require.Equal(t, Recovery{Clean: true, Mode: Absolute, Watermark: 3, Sequence: 3}, e.Recovery())
}

// closedTorn returns the directory of a store that was closed, and whose log ends as a
// power loss may leave it, and a clean shutdown never does.
func closedTorn(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, open(t, dir, Options{}).Close())
	torn := binary.LittleEndian.AppendUint32(nil, 0xDEADBEEF)
	torn = append(torn, 200, 0, 1, 'x')
	log, err := os.OpenFile(newest(t, dir, ".log"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = log.Write(torn)
	require.NoError(t, errors.Join(err, log.Close()))
	return dir
}

// An owner that opens a store while it is surveyed, and dies, leaves what the marker that
// was read first does not speak of. It is looked at once more, and only then.
func TestAnOwnerThatDiesDuringASurveyIsNoDamage(t *testing.T) {
	o, err := Options{ReadOnly: true}.withDefaults()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		before, between func(dir string) error
		looks           int
		want            error
	}{
		"it died":            {nil, func(dir string) error { return os.Remove(filepath.Join(dir, markerName)) }, 2, nil},
		"there was none":     {nil, nil, 1, engine.ErrCorrupt},
		"it was there first": {func(dir string) error { return os.Remove(filepath.Join(dir, markerName)) }, nil, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir, looks := closedTorn(t), 0
			if c.before != nil {
				require.NoError(t, c.before(dir))
			}
			_, err := lookAgain(dir, func() (survey, error) {
				s, err := takeOnce(dir, &o)
				if looks++; looks == 1 && c.between != nil {
					require.ErrorIs(t, err, engine.ErrCorrupt)
					require.NoError(t, c.between(dir))
				}
				return s, err
			})
			require.ErrorIs(t, err, c.want)
			require.Equal(t, c.looks, looks)
		})
	}
	dir, looks := t.TempDir(), 0 // damage in a store that was not closed is what it is
	_, err = lookAgain(dir, func() (survey, error) { looks++; return survey{}, engine.ErrCorrupt })
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.Equal(t, 1, looks)
	_, err = lookAgain(dir, func() (survey, error) {
		looks++
		return survey{recovery: Recovery{Clean: true}}, engine.ErrNoSpace
	})
	require.ErrorIs(t, err, engine.ErrNoSpace, "which is no damage, and is not tried again")
	require.Equal(t, 2, looks)
}

func TestMarkerDecidesHowTheLogIsRead(t *testing.T) {
	random := enginetest.Random(t)
	dir := closedTorn(t)
	_, err := Open(copyDir(t, dir), Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)

	without := copyDir(t, dir)
	require.NoError(t, os.Remove(filepath.Join(without, markerName)))
	require.Equal(t, TolerateTail, open(t, without, Options{}).Recovery().Mode)

	damaged := copyDir(t, dir)
	flip(t, filepath.Join(damaged, markerName), random.IntN(markerSize))
	r := open(t, damaged, Options{}).Recovery()
	require.False(t, r.Clean)
	require.Equal(t, TolerateTail, r.Mode)
	require.Len(t, r.Problems, 1)
	require.Contains(t, r.Problems[0], markerName)
}

func TestMarkerBoundsTheLogToo(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, open(t, dir, Options{}).Close())
	require.NoError(t, writeMarker(dir, marker{SchemaVersion, 77}))
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, "77")
}

func TestDamagedWatermarkIsReported(t *testing.T) {
	random := enginetest.Random(t)
	dir, last := crashed(t)
	path := func(dir string) string { return filepath.Join(dir, watermarkName) }
	half := copyDir(t, dir)
	flip(t, path(half), random.IntN(slotUsed))
	both := copyDir(t, half)
	require.NoError(t, os.WriteFile(path(both), make([]byte, slots*slotSize), 0o600))
	none := copyDir(t, dir)
	require.NoError(t, os.Remove(path(none)))

	for name, dir := range map[string]string{"one of the two": half, "is damaged": both, "is missing": none} {
		e := open(t, dir, Options{})
		r := e.Recovery()
		require.Len(t, r.Problems, 1, name)
		require.Contains(t, r.Problems[0], name)
		requireRows(t, e, damagedRows)
		at, problem := readWatermark(dir)
		require.Equal(t, last, at.sequence)
		require.Empty(t, problem, "it is written anew")
	}
}

// flushed returns the directory of a store with its rows in one table.
func flushed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	e := open(t, dir, Options{})
	var b engine.Batch
	for i := range damagedRows {
		b.Put(column.State, []byte(ctx(i)), fmt.Append(nil, i))
	}
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Close())
	return dir
}

func TestFlippedTableIsReportedOrHarmless(t *testing.T) {
	t.Parallel()
	random := enginetest.Random(t)
	dir := flushed(t)
	reported := 0
	for i := 0; i < enginetest.Scale(60) || reported == 0 && i < 60; i++ {
		hurt := copyDir(t, dir)
		table := newest(t, hurt, ".sst")
		at := random.IntN(size(t, table))
		flip(t, table, at)
		e, err := Open(hurt, Options{})
		if err == nil {
			err = readRows(t, e)
			require.NoError(t, e.Close())
		}
		if err != nil {
			require.ErrorIs(t, err, engine.ErrCorrupt, "byte %d", at)
			reported++
		}
	}
	require.NotZero(t, reported)
}

// One flipped bit of the footer of a table, which has no checksum, or of its properties,
// whose checksum is looked at late, makes builds of RocksDB with assertions end the
// process: it is not asked, whatever column the table is of, and whichever way it is opened.
func TestFlippedEndsOfTablesAreReportedOrHarmless(t *testing.T) {
	t.Parallel()
	dir := flushed(t)
	path := newest(t, dir, ".sst")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	footer := len(whole) - 53
	meta, n := binary.Uvarint(whole[footer+1:])
	size, _ := binary.Uvarint(whole[footer+1+n:])
	places := []int{int(meta+size) - 1}             // of the number of restarts of the list of parts
	for at := int(meta) - 9; at < int(meta); at++ { // the same, and the checksum, of what is before it: the properties
		places = append(places, at)
	}
	for at := footer; at < len(whole); at++ {
		places = append(places, at)
	}
	refused := 0
	for _, at := range places {
		for bit := range 8 {
			hurt := append([]byte(nil), whole...)
			hurt[at] ^= 1 << bit
			require.NoError(t, os.WriteFile(path, hurt, 0o600))
			for _, o := range []Options{{ReadOnly: true}, {AcceptLoss: true, ReadOnly: true}} {
				e, err := Open(dir, o)
				if err == nil {
					err = readRows(t, e)
					require.NoError(t, e.Close())
				}
				if err != nil {
					require.ErrorIs(t, err, engine.ErrCorrupt, "bit %d of byte %d", bit, at)
					refused++
				}
			}
		}
	}
	require.Greater(t, refused, 8*10, "properties and list of parts at least")
	for what, at := range map[string]int{"its footer": len(whole) - 12, "its properties": int(meta) - 6} {
		hurt := append([]byte(nil), whole...)
		hurt[at] ^= 1 << 2
		require.NoError(t, os.WriteFile(path, hurt, 0o600))
		for _, o := range []Options{{}, {AcceptLoss: true}, {ReadOnly: true}, {ReadOnly: true, ScratchDir: t.TempDir()}} {
			_, err := Open(dir, o)
			require.ErrorIs(t, err, engine.ErrCorrupt)
			require.ErrorContains(t, err, filepath.Base(path)+" is damaged")
			require.ErrorContains(t, err, what)
			require.ErrorContains(t, err, "stoa salvage")
		}
	}
}

// readRows returns the error that reading all rows ends with. Rows that it reads
// must be right.
func readRows(t *testing.T, e *Engine) error {
	t.Helper()
	it, err := e.Iterate(column.State, engine.Range{})
	if err != nil {
		return err
	}
	defer it.Close()
	n := 0
	for ; it.Next(); n++ {
		require.Equal(t, ctx(n), string(it.Key()))
		require.Equal(t, fmt.Sprint(n), string(it.Value()))
	}
	if it.Err() == nil {
		require.Equal(t, damagedRows, n)
	}
	return it.Err()
}

func TestDamagedBlockEndsReadsWithAnError(t *testing.T) {
	dir := flushed(t)
	flip(t, newest(t, dir, ".sst"), 10)
	e := open(t, dir, Options{})
	require.ErrorIs(t, readRows(t, e), engine.ErrCorrupt)
	_, err := e.Get(nil, column.State, []byte(ctx(0)))
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, filepath.Base(newest(t, dir, ".sst")))
	_, err = e.MultiGet(nil, []engine.Lookup{{Column: column.State, Key: []byte(ctx(0))}})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	b := engine.Batch{}
	b.ExpectAbsent(column.State, []byte(ctx(0)))
	require.ErrorIs(t, e.Apply(&b), engine.ErrCorrupt)
	put(t, e, engine.Synced, column.Meta, "other", "columns go on")
}

func TestMissingTableIsReported(t *testing.T) {
	dir := flushed(t)
	require.NoError(t, os.Remove(newest(t, dir, ".sst")))
	before := files(t, dir)
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.Equal(t, before, files(t, dir))
}
