package rocks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// ctx returns the ith key of a context.
func ctx(i int) string { return fmt.Sprintf("%032d", i) }

func TestMarkerIsItsBytes(t *testing.T) {
	b := marker{SchemaVersion, 0x0102030405060708}.append(nil)
	require.Equal(t, "STOACLN1\x01\x00\x00\x00\x08\x07\x06\x05\x04\x03\x02\x01\x06\xAE\x88\xFD"[:20], string(b[:20]))
	rapid.Check(t, func(t *rapid.T) {
		m := marker{rapid.Uint32().Draw(t, "schema"), rapid.Uint64().Draw(t, "sequence")}
		b := m.append(nil)
		got, ok := parseMarker(b)
		require.True(t, ok)
		require.Equal(t, m, got)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
		_, ok = parseMarker(b)
		require.False(t, ok)
		_, ok = parseMarker(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")])
		require.False(t, ok)
	})
}

// Whatever happens to the slot that is being written, the other one stands.
func TestWatermarkSurvivesATornWrite(t *testing.T) {
	dir := t.TempDir()
	_, problem := readWatermark(dir)
	require.Contains(t, problem, "missing")
	w, err := openWatermark(dir, level{sequence: 5}, 0)
	require.NoError(t, err)
	defer w.close()
	for seq := uint64(6); seq < 20; seq++ {
		manifest := manifestMark{seq / 10, seq * 3}
		require.NoError(t, w.raise(level{seq, manifest}))
		require.NoError(t, w.raise(level{seq - 1, manifest}), "it never falls")
		at, problem := readWatermark(dir)
		require.Equal(t, level{seq, manifest}, at.level)
		require.Empty(t, problem)

		b, err := os.ReadFile(filepath.Join(dir, watermarkName))
		require.NoError(t, err)
		torn := (1 - w.older) * slotSize
		b[torn+20] ^= 1
		other := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(other, watermarkName), b, 0o600))
		at, problem = readWatermark(other)
		require.Equal(t, seq-1, at.sequence)
		require.NotEmpty(t, problem)
	}
}

// Every kill may come before the file is renamed.
func TestKillsLeaveOneTemporaryFileAtMost(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, watermarkName)
	require.NoError(t, os.WriteFile(path+".tmp", make([]byte, 9000), 0o600)) // of a kill before
	require.NoError(t, writeWatermark(dir, level{sequence: 7}, 1))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, b, (slots+1)*slotSize)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestSpaceIsAskedForSeldom(t *testing.T) {
	now := time.Unix(1, 0)
	s := space{dir: t.TempDir(), keep: mib, now: func() time.Time { return now }}
	var puts, deletes engine.Batch
	puts.Put(column.Meta, nil, make([]byte, mib))
	deletes.Delete(column.Meta, nil)
	require.NoError(t, s.admit(puts.Bytes()))
	s.free = 3*mib + 100 // as if the disk had only this
	require.NoError(t, s.admit(puts.Bytes()))
	require.ErrorIs(t, s.admit(puts.Bytes()), engine.ErrNoSpace, "what was written since counts")
	require.NoError(t, s.admit(deletes.Bytes()))
	s.free = s.written + mib/4
	require.ErrorIs(t, s.admit(deletes.Bytes()), engine.ErrNoSpace)
	now = now.Add(spaceEvery)
	require.NoError(t, s.admit(puts.Bytes()), "the disk was asked again")
	s.free, s.written = 0, spaceBytes
	require.NoError(t, s.admit(puts.Bytes()), "the disk was asked again")
	s.dir = filepath.Join(s.dir, "gone")
	s.checked = time.Time{}
	require.Error(t, s.admit(puts.Bytes()))
	s.keep = -1
	require.NoError(t, s.admit(puts.Bytes()))
}
