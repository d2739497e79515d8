package enginetest

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

var lookups = []promise{
	{"multiget finds what is there and says what is not", multiGet},
	{"multiget of nothing is no error", func(t *trial) {
		buf, err := t.db.MultiGet([]byte("buf"), nil)
		require.NoError(t, err)
		require.Equal(t, "buf", string(buf))
		buf, err = t.db.MultiGet(nil, []engine.Lookup{})
		require.NoError(t, err)
		require.Empty(t, buf)
	}},
	{"multiget takes many keys", func(t *trial) {
		n := min(t.cfg.Limits.Lookups, Scale(10_000))
		t.fill(t.col, "k", n/2, 30)
		l := make([]engine.Lookup, n)
		for i := range l {
			l[i] = engine.Lookup{Column: t.col, Key: t.key(fmt.Sprintf("k%06d", n-1-i))}
		}
		_, err := t.db.MultiGet(nil, l)
		require.NoError(t, err)
		for i := range l {
			at := n - 1 - i
			require.Equal(t, at < n/2, l[i].Found, at)
			if l[i].Found {
				require.Equal(t, fmt.Sprintf("%030d", at), string(l[i].Value))
			}
		}
	}},
	{"multiget reads one state", oneState},
}

func multiGet(t *trial) {
	cols := t.cfg.Space.Columns
	for i, col := range cols {
		t.put(col, "k", fmt.Sprint("value ", i), "empty", "")
	}
	var l []engine.Lookup
	var want []string
	add := func(i int, key, value string) {
		l = append(l, engine.Lookup{Column: cols[i], Key: t.key(key), Value: []byte("stale"), Found: value == "-"})
		want = append(want, value)
	}
	for i := range cols {
		add(i, "k", fmt.Sprint("value ", i))
		add(i, "missing", "-")
		add(i, "empty", "")
		add(i, "k", fmt.Sprint("value ", i))
	}
	require0 := func(buf []byte) {
		for i := range l {
			require.Equal(t, want[i] != "-", l[i].Found, "lookup %d", i)
			if l[i].Found {
				require.Equal(t, want[i], string(l[i].Value), "lookup %d", i)
			} else {
				require.Nil(t, l[i].Value, "lookup %d", i)
			}
		}
		require.Equal(t, "buf:", string(buf[:4]))
	}
	buf, err := t.db.MultiGet([]byte("buf:"), l)
	require.NoError(t, err)
	require0(buf)

	// The memory is used again, and the values are parts of it.
	for range 3 {
		at := &buf[0]
		buf, err = t.db.MultiGet(buf[:4], l)
		require.NoError(t, err)
		require0(buf)
		require.Same(t, at, &buf[0], "a buffer that was large enough has been replaced")
	}
	for i := range l {
		if len(l[i].Value) > 0 {
			l[i].Value[0] ^= 0xFF
		}
	}
	t.requireValue(t.db, cols[0], "k", "value 0")
	require.NotContains(t, string(buf[4:]), "value 0")
}

// oneState has a writer keep two keys equal while they are read together.
func oneState(t *trial) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	t.putPair(0)
	wg.Go(func() {
		for i := uint64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
				if err := t.db.Apply(t.pair(i)); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	defer wg.Wait()
	defer close(stop)
	l := []engine.Lookup{{Column: t.col, Key: t.key("left")}, {Column: t.other(), Key: t.key("right")}}
	var buf []byte
	for range Scale(500) {
		var err error
		buf, err = t.db.MultiGet(buf[:0], l)
		require.NoError(t, err)
		require.Equal(t, l[0].Value, l[1].Value)
	}
}

// pair returns the batch that sets two keys, in two columns where there are
// two, to i.
func (t *trial) pair(i uint64) *engine.Batch {
	b := batch()
	value := binary.BigEndian.AppendUint64(nil, i)
	b.Put(t.col, t.key("left"), value)
	b.Put(t.other(), t.key("right"), value)
	return b
}

func (t *trial) putPair(i uint64) { require.NoError(t, t.db.Apply(t.pair(i))) }
