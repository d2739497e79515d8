package engine_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// looks counts lookups one by one.
type looks struct {
	engine.Reader
	n int
}

func (l *looks) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	l.n += len(lookups)
	return l.Reader.MultiGet(buf, lookups)
}

// What is gathered is what is looked up, whichever rows lie between, are not there, or are asked for twice.
func TestGatherIsMultiGet(t *testing.T) {
	key := func(i int) []byte { return binary.BigEndian.AppendUint16([]byte("gather-test-scope"), uint16(i)) }
	var either [2]int
	rapid.Check(t, func(t *rapid.T) {
		db := mem.New()
		defer db.Close()
		var b engine.Batch
		rows := rapid.IntRange(0, 3000).Draw(t, "rows")
		size := rapid.SampledFrom([]int{0, 1, 100, 2000}).Draw(t, "size")
		for i := range rows {
			if i%5 != 3 {
				b.Put(column.Generic, key(i), bytes.Repeat([]byte{byte(i)}, i%7*size))
			}
		}
		require.NoError(t, db.Apply(&b))
		from, to := rapid.IntRange(0, 3000).Draw(t, "from"), rapid.IntRange(0, 3000).Draw(t, "to")
		var got, want []engine.Lookup
		for range rapid.IntRange(0, 300).Draw(t, "lookups") {
			l := engine.Lookup{Column: column.Generic, Key: key(rapid.IntRange(min(from, to), max(from, to)).Draw(t, "row"))}
			got, want = append(got, l), append(want, l)
		}
		r := &looks{Reader: db}
		require.NoError(t, engine.Gather(r, column.Generic, got))
		_, err := db.MultiGet(nil, want)
		require.NoError(t, err)
		for i := range want {
			require.Equal(t, want[i].Key, got[i].Key)
			require.Equal(t, want[i].Found, got[i].Found)
			require.Equal(t, len(want[i].Value), len(got[i].Value))
			require.Equal(t, append([]byte{}, want[i].Value...), append([]byte{}, got[i].Value...))
		}
		if r.n == 0 {
			either[0]++
		} else {
			either[1]++
		}
	})
	require.NotZero(t, either[0], "some lie beside each other")
	require.NotZero(t, either[1], "some are far apart")
}

// An iteration that fails is not taken for rows that are not there.
func TestGatherSaysWhatAnIterationEndedWith(t *testing.T) {
	db := mem.New()
	lookups := []engine.Lookup{{Column: column.Generic, Key: []byte("gather-test-scope-1")}}
	require.NoError(t, db.Close())
	require.ErrorIs(t, engine.Gather(db, column.Generic, lookups), engine.ErrClosed)
}
