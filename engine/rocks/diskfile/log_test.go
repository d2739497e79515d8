package diskfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// writeLog returns a log with these records, as RocksDB writes it.
func writeLog(records [][]byte) []byte {
	var out []byte
	for _, r := range records {
		for first := true; first || len(r) > 0; first = false {
			if room := logBlock - len(out)%logBlock; room < logHeader {
				out = append(out, make([]byte, room)...)
			}
			n := min(len(r), logBlock-len(out)%logBlock-logHeader)
			typ := map[[2]bool]byte{{true, true}: fragmentFull, {true, false}: fragmentFirst, {false, false}: fragmentMiddle, {false, true}: fragmentLast}[[2]bool{first, n == len(r)}]
			body := append([]byte{typ}, r[:n]...)
			out = binary.LittleEndian.AppendUint32(out, masked(crc32.Checksum(body, castagnoli())))
			out = binary.LittleEndian.AppendUint16(out, uint16(n))
			out = append(out, body...)
			r = r[n:]
		}
	}
	return out
}

func readLog(t require.TestingT, log []byte) (records [][]byte, damages []*Damage) {
	for r, err := range Log(bytes.NewReader(log)) {
		var d *Damage
		if errors.As(err, &d) {
			require.ErrorIs(t, err, ErrDamaged)
			damages = append(damages, d)
			continue
		}
		require.NoError(t, err)
		records = append(records, bytes.Clone(r.Data))
	}
	return records, damages
}

func drawRecords(t *rapid.T) (records [][]byte) {
	for i := range rapid.IntRange(1, 12).Draw(t, "records") {
		size := rapid.SampledFrom([]int{0, 1, 100, logBlock - logHeader, logBlock - 2*logHeader, logBlock, 3 * logBlock}).Draw(t, "size")
		records = append(records, []byte(strings.Repeat(fmt.Sprint(i%10), size)))
	}
	return records
}

func TestLogIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRecords(t)
		got, damages := readLog(t, writeLog(want))
		require.Empty(t, damages)
		require.Len(t, got, len(want))
		for i := range want {
			require.True(t, bytes.Equal(want[i], got[i]))
		}
	})
}

// A flip costs the records that touch its block, is reported, and nothing comes
// out that was not put in. A cut is reported unless it lies between records.
func TestDamageOfALogIsReported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRecords(t)
		log := writeLog(want)
		there := map[string]bool{}
		for _, r := range want {
			there[string(r)] = true
		}
		damaged := bytes.Clone(log)
		at := rapid.IntRange(0, len(log)-1).Draw(t, "at")
		cut := rapid.Bool().Draw(t, "cut")
		if cut {
			damaged = damaged[:at]
		} else {
			damaged[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		got, damages := readLog(t, damaged)
		for _, r := range got {
			require.True(t, there[string(r)], "a record of %d bytes that was never written", len(r))
		}
		if cut {
			require.True(t, len(damages) > 0 || len(got) < len(want))
		} else if len(got) < len(want) {
			require.NotEmpty(t, damages)
		}
	})
}

func TestBatchesParseOrAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "data")
		b, err := ParseBatch(data)
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
			return
		}
		n := uint32(0)
		for c, err := range b.Changes {
			if err != nil {
				require.ErrorIs(t, err, ErrDamaged)
				return
			}
			require.Equal(t, b.Sequence+uint64(n), c.Sequence)
			n++
		}
		require.Equal(t, b.Count, n)
	})
}

// Zeros in the place of the first block are damage as soon as records come behind them.
func TestZerosBeforeTheFirstRecordAreTold(t *testing.T) {
	record := []byte("a record")
	got, damages := readLog(t, append(make([]byte, logBlock), writeLog([][]byte{record})...))
	require.Equal(t, [][]byte{record}, got)
	require.Equal(t, []*Damage{{Offset: 0, Length: logBlock, Reason: unfilled}}, damages)
}

// A power loss cuts a log in the middle of a record's second block too: that is its end, and
// no damage.
func TestALogMayEndInTheMiddleOfALongRecord(t *testing.T) {
	log := writeLog([][]byte{bytes.Repeat([]byte("x"), 2*logBlock)})
	got, damages := readLog(t, log[:logBlock+100])
	require.Empty(t, got)
	require.Len(t, damages, 1)
	require.True(t, damages[0].Cut(), damages[0].Reason)
	require.Zero(t, damages[0].Offset)
}
