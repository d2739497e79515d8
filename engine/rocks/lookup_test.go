//go:build cgo

package rocks

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

// counted are rows that each hold a number that only grows, with what is known
// of it from outside: it is at least acked when a read begins, and at most asked
// when it ends.
type counted struct {
	keys         [8][]byte
	asked, acked [8]atomic.Uint64
	seen         [8]atomic.Uint64 // the most that any read that has ended has seen
}

// TestReadsBesideWritesAreLinearizable has some goroutines write numbers that
// grow, two rows to a batch, while others read them in every way. A read that
// goes back behind an answered write or another read is a stale one.
func TestReadsBesideWritesAreLinearizable(t *testing.T) {
	e := open(t, t.TempDir(), Options{RowCacheBytes: mib})
	var c counted
	var first engine.Batch
	for i := range c.keys {
		c.keys[i] = []byte(ctx(i))
		first.Put(column.State, c.keys[i], make([]byte, 8))
	}
	require.NoError(t, e.Apply(&first))
	var writers, readers sync.WaitGroup
	var over atomic.Bool
	rounds := enginetest.Scale(20_000)
	for w := range 2 { // each has four of the rows
		writers.Go(func() { c.write(t, e, w, rounds) })
	}
	for r := range 3 {
		readers.Go(func() {
			for i := r; !over.Load() && !t.Failed(); i++ {
				c.read(t, e, i)
			}
		})
	}
	writers.Wait()
	over.Store(true)
	readers.Wait()
}

// write writes pairs of the rows 4w to 4w+3, now and then by removing them in
// the same batch.
func (c *counted) write(t *testing.T, e *Engine, w, rounds int) {
	for n := uint64(1); n <= uint64(rounds) && !t.Failed(); n++ {
		i := 4*w + int(n%2)*2
		b := engine.Batch{Durability: engine.WAL}
		if n%64 < 2 {
			b.DeleteRange(column.State, c.keys[i], c.keys[i+1])
		}
		for k := i; k < i+2; k++ {
			c.asked[k].Store(n)
			if n%4 < 2 { // what nobody may see
				b.Put(column.State, c.keys[k], binary.BigEndian.AppendUint64(nil, 1<<60|n))
			}
			b.Put(column.State, c.keys[k], binary.BigEndian.AppendUint64(nil, n))
		}
		if err := e.Apply(&b); err != nil {
			t.Error(err)
			return
		}
		for k := i; k < i+2; k++ {
			c.acked[k].Store(n)
		}
	}
}

// read reads one of the rows, or a pair of them.
func (c *counted) read(t *testing.T, e *Engine, n int) {
	i := n * 5 % 8
	pair := i &^ 1
	least := [2]uint64{max(c.acked[pair].Load(), c.seen[pair].Load()), max(c.acked[pair+1].Load(), c.seen[pair+1].Load())}
	var got [2]uint64
	var err error
	both := true
	switch n % 4 {
	case 0, 1:
		both = false
		var v []byte
		v, err = e.Get(nil, column.State, c.keys[i])
		got[i&1] = number(v)
	case 2:
		got, err = c.readPair(e, pair)
	case 3:
		var s engine.Snapshot
		if s, err = e.Snapshot(); err == nil {
			got, err = c.readPair(s, pair)
			var again []byte
			again, failed := s.Get(nil, column.State, c.keys[pair])
			if failed != nil || number(again) != got[0] {
				err = fmt.Errorf("a snapshot that had %d has %d, %v", got[0], number(again), failed)
			}
			s.Close()
		}
	}
	if err != nil {
		t.Error(err)
		return
	}
	if both && got[0] != got[1] {
		t.Errorf("rows that are written together have %d and %d", got[0], got[1])
	}
	for k := range 2 {
		if row := pair + k; both || row == i {
			if most := c.asked[row].Load(); got[k] < least[k] || got[k] > most {
				t.Errorf("row %d has %d, which should be %d to %d (way %d)", row, got[k], least[k], most, n%4)
			}
			raise(&c.seen[row], got[k])
		}
	}
}

func (c *counted) readPair(r engine.Reader, pair int) (got [2]uint64, err error) {
	l := []engine.Lookup{{Column: column.State, Key: c.keys[pair]}, {Column: column.State, Key: c.keys[pair+1]}}
	_, err = r.MultiGet(nil, l)
	return [2]uint64{number(l[0].Value), number(l[1].Value)}, err
}

// number is that of a value; one that is not there is 0.
func number(v []byte) uint64 {
	if len(v) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(v)
}

func raise(a *atomic.Uint64, to uint64) {
	for at := a.Load(); at < to && !a.CompareAndSwap(at, to); at = a.Load() {
	}
}

// TestRowsOfASnapshotStayAsTheyWere reads a snapshot before and after writes, with
// the rows in the cache.
func TestRowsOfASnapshotStayAsTheyWere(t *testing.T) {
	e := open(t, t.TempDir(), Options{RowCacheBytes: mib})
	put(t, e, engine.WAL, column.State, "a", "1")
	old, err := e.Snapshot()
	require.NoError(t, err)
	defer old.Close()
	for range 2 { // the second time it is kept
		require.Equal(t, "1", get(t, old, column.State, "a"))
		require.Equal(t, "1", get(t, e, column.State, "a"))
	}
	put(t, e, engine.WAL, column.State, "a", "2")
	for range 2 {
		require.Equal(t, "2", get(t, e, column.State, "a"))
		require.Equal(t, "1", get(t, old, column.State, "a"))
	}
	l := []engine.Lookup{{Column: column.State, Key: []byte("a")}, {Column: column.State, Key: []byte("b")}, {Column: column.State, Key: []byte("a")}}
	for want, r := range map[string]engine.Reader{"1": old, "2": e} {
		buf, err := r.MultiGet([]byte("x"), l)
		require.NoError(t, err)
		require.Equal(t, "x"+want+want, string(buf))
		require.Equal(t, []string{want, "", want}, []string{string(l[0].Value), string(l[1].Value), string(l[2].Value)})
		require.Equal(t, []bool{true, false, true}, []bool{l[0].Found, l[1].Found, l[2].Found})
	}
}

func TestReopeningForgetsTheRowsThatWereKept(t *testing.T) {
	e := open(t, t.TempDir(), Options{RowCacheBytes: mib})
	put(t, e, engine.Synced, column.State, "a", "1")
	require.Equal(t, "1", get(t, e, column.State, "a"))
	rows := e.st.rows
	e.fail(fmt.Errorf("for this test"))
	require.NoError(t, e.Reopen())
	require.NotSame(t, rows, e.st.rows)
	require.Equal(t, "1", get(t, e, column.State, "a"))
}
