//go:build cgo

package rocks

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// starts returns where records of a log or a manifest begin: the first, one in the
// middle, and the last.
func starts(t *testing.T, path string) []int64 {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var all []int64
	for r, err := range diskfile.Log(f) {
		require.NoError(t, err)
		all = append(all, r.Offset)
	}
	require.Greater(t, len(all), 2)
	return []int64{all[0], all[len(all)/2], all[len(all)-1]}
}

// retype gives the fragment at a place of a log another type, which has a header of
// more bytes in recycled logs. Where sum is set it has the checksum of that, as far
// as its bytes are there.
func retype(b []byte, at int64, typ byte, sum bool) {
	b[at+6] = typ
	if !sum {
		return
	}
	end := at + 7 + int64(binary.LittleEndian.Uint16(b[at+4:]))
	if typ >= 5 && typ <= 8 || typ == 11 || typ == 131 {
		end += 4
	}
	crc := crc32.Checksum(b[at+6:min(end, int64(len(b)))], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(b[at:], (crc>>15|crc<<17)+0xa282ead8)
}

// One flipped bit makes a record one of a recycled log. RocksDB 9.10 never comes back
// from opening such a directory, and 7.8 takes it for the end of the log: it is not
// asked. Nor is it about types that versions after this one may know.
func TestRecordsOfTypesThatAreNeverWrittenAreReported(t *testing.T) {
	t.Parallel()
	dir, _ := crashed(t)
	manifest, _, err := diskfile.CurrentManifest(dir)
	require.NoError(t, err)
	for _, path := range []string{newest(t, dir, ".log"), manifest} {
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, at := range starts(t, path) {
			for _, typ := range []byte{5, 6, 7, 8, 9, 10, 11, 12, 130, 131, 255} {
				for _, sum := range []bool{false, true} {
					what := fmt.Sprintf("%s at %d: type %d, checksum remade: %v", filepath.Base(path), at, typ, sum)
					hurt := append([]byte(nil), whole...)
					retype(hurt, at, typ, sum)
					require.NoError(t, os.WriteFile(path, hurt, 0o600))
					before := files(t, dir)
					for _, o := range []Options{{}, {AcceptLoss: true}, {ReadOnly: true}} {
						_, err := Open(dir, o)
						require.ErrorIs(t, err, engine.ErrCorrupt, what)
						require.ErrorContains(t, err, fmt.Sprintf("%s is damaged at byte %d", filepath.Base(path), at), what)
						require.ErrorContains(t, err, "stoa salvage", what)
					}
					require.Equal(t, before, files(t, dir), what)
				}
			}
		}
		require.NoError(t, os.WriteFile(path, whole, 0o600))
	}
	requireRows(t, open(t, dir, Options{}), damagedRows)
}

// What is damaged in a log that no family needs any more is nobody's loss.
func TestDamageOfALogThatIsDoneIsHarmless(t *testing.T) {
	t.Parallel()
	dir, _ := crashed(t)
	b, err := os.ReadFile(newest(t, dir, ".log"))
	require.NoError(t, err)
	retype(b, 0, 5, false)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "000001.log"), b, 0o600))
	requireRows(t, open(t, dir, Options{ReadOnly: true}), damagedRows)
}
