package server

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What is answered as a short call is the same scan: all entries up to the limit, however large
// they are, the end in the same breath, and errors as they were.
func TestAScanOfFewEntriesIsTheScan(t *testing.T) {
	db := mem.New()
	d := start(t, db, Options{Raw: true})
	fill := func(size int) {
		var b engine.Batch
		for i := range 200 {
			b.Put(column.Generic, append([]byte("short-scan-test-"), byte(i)), bytes.Repeat([]byte{byte(i)}, size))
		}
		require.NoError(t, db.Apply(&b))
	}
	c := d.raw(t)
	scan := func(r *stoav1.ScanRequest) (found, pages int) {
		r.Column = stoav1.Column_COLUMN_GENERIC
		c.send(frame.Header{ID: 1, Method: 104, Flags: frame.End}, r)
		for taken := 0; ; pages++ {
			f := c.next()
			if f.Flags == frame.End {
				require.Empty(t, f.Payload)
				return found, pages
			}
			require.Zero(t, f.Flags)
			page := new(stoav1.ScanResponse)
			require.NoError(t, proto.Unmarshal(f.Payload, page))
			var n int
			for rest := page.GetEntries(); len(rest) > 0; n++ {
				key, value, after, ok := engine.CutEntry(rest)
				require.True(t, ok)
				require.Equal(t, byte(found), key[len(key)-1])
				require.True(t, len(value) > 0 && value[0] == byte(found))
				rest = after
				found++
			}
			require.EqualValues(t, n, page.GetCount())
			if taken += len(f.Payload); taken >= frame.Window/2 {
				c.write(append(frame.Header{ID: 1, Flags: frame.Credit, Length: 4}.Append(nil), 0, 0, 0x10, 0))
				taken = 0
			}
		}
	}
	ask := func(limit uint64) (int, int) {
		return scan(&stoav1.ScanRequest{Prefix: []byte("short-scan-test-"), Limit: limit})
	}
	one := func(want int) func(int, int) {
		return func(found, pages int) {
			t.Helper()
			require.Equal(t, want, found)
			require.LessOrEqual(t, pages, 1)
		}
	}
	one(0)(scan(&stoav1.ScanRequest{Prefix: []byte("nothing-is-here-"), Limit: 9}))
	fill(100)
	one(1)(ask(1))
	one(100)(ask(100))
	one(128)(ask(128))
	found, _ := ask(0)
	require.Equal(t, 200, found)
	fill(32 << 10)
	for range 2 {
		found, pages := ask(100)
		require.Equal(t, 100, found)
		require.Greater(t, pages, 1)
	}
	c.send(frame.Header{ID: 1, Method: 104, Flags: frame.End}, &stoav1.ScanRequest{Column: 99, Limit: 9})
	require.ErrorContains(t, c.failure(c.next()), "column")
}
