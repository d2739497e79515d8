package rows

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
)

func always() bool { return true }

func newTable(t testing.TB, size int64) *Table {
	table, err := New(size)
	require.NoError(t, err)
	t.Cleanup(table.Close)
	return table
}

func put(table *Table, col column.Column, key, value string) {
	table.Put(table.Hash(col, []byte(key)), table.Epoch(col).Load(), col, []byte(key), []byte(value), always)
}

func find(table *Table, col column.Column, key string) (string, bool) {
	value, ok := table.Find(nil, table.Hash(col, []byte(key)), col, []byte(key))
	return string(value), ok
}

// All entries that a row may have are taken: the one that was kept first gives way.
func TestTheOldestRowGivesWay(t *testing.T) {
	for oldest := range entries {
		table := newTable(t, 1<<20)
		key := func(i int) (uint64, []byte) {
			// Rows with the lower half of the hash in common have the same entries.
			return uint64(i+1) << 48, binary.BigEndian.AppendUint32(nil, uint32(i))
		}
		kept := func(i int) bool {
			h, k := key(i)
			v, ok := table.Find(nil, h, column.State, k)
			require.Equal(t, ok, string(v) == "value")
			return ok
		}
		keep := func(i int) {
			h, k := key(i)
			table.Put(h, 0, column.State, k, []byte("value"), always)
		}
		for i := range entries {
			keep(i)
		}
		for i := range oldest { // those before it are kept anew, and are the newest
			h, k := key(i)
			_, ok := table.Remove(h, column.State, k)
			require.True(t, ok)
			keep(i)
		}
		keep(entries)
		for i := range entries {
			require.Equal(t, i != oldest, kept(i), "row %d, after that of %d", i, oldest)
		}
		require.True(t, kept(entries))
	}
}

// Keys and values of all lengths about those of words are what they were.
func TestRowsOfAllLengths(t *testing.T) {
	table := newTable(t, 4<<20)
	text := bytes.Repeat([]byte("0123456789abcdef"), MaxRow/16+1)
	sizes := []int{0, 1, 7, 8, 9, 15, 16, 17, 65, 256, 1000, MaxRow - 20}
	for _, k := range sizes {
		for _, v := range sizes {
			key, value := fmt.Sprintf("%02d%s", v%97, text[:k]), string(text[:v])
			put(table, column.State, key, value)
			got, ok := find(table, column.State, key)
			require.Equal(t, len(key)+len(value) <= MaxRow, ok, "%d and %d bytes", len(key), v)
			if ok {
				require.Equal(t, value, got)
			}
			if k > 0 {
				_, ok = find(table, column.State, key[:len(key)-1]+"\x00")
				require.False(t, ok, "a key that ends otherwise")
			}
			_, ok = find(table, column.Delta, key)
			require.False(t, ok, "another column")
		}
	}
}

// What is behind a value in the memory that it is appended to stays what it is.
func TestAValueIsAppendedAndNoMore(t *testing.T) {
	table := newTable(t, 1<<20)
	for size := range 20 {
		key := []byte{byte(size)}
		put(table, column.State, string(key), string(make([]byte, size)))
		memory := bytes.Repeat([]byte{'x'}, 64)
		value, ok := table.Find(memory[:3], table.Hash(column.State, key), column.State, key)
		require.True(t, ok)
		require.Equal(t, &memory[0], &value[0], "there is room")
		require.Equal(t, "xxx"+string(make([]byte, size)), string(value))
		require.Equal(t, bytes.Repeat([]byte{'x'}, 64-3-size), memory[3+size:])
	}
}

// A column is emptied by counting: rows of before are not found, those of after are.
func TestAColumnIsEmptiedByCounting(t *testing.T) {
	table := newTable(t, 1<<20)
	put(table, column.State, "k", "old")
	put(table, column.Delta, "k", "other")
	table.Epoch(column.State).Add(1)
	_, ok := find(table, column.State, "k")
	require.False(t, ok)
	table.Epoch(column.State).Add(1)
	_, ok = find(table, column.State, "k")
	require.False(t, ok)
	put(table, column.State, "k", "new")
	value, ok := find(table, column.State, "k")
	require.True(t, ok)
	require.Equal(t, "new", value)
	_, ok = find(table, column.Delta, "k")
	require.True(t, ok)
}

// A ring that comes around writes over what is there: what is found is what was put.
func TestWhatIsWrittenOverIsNotFound(t *testing.T) {
	table := newTable(t, 256<<10)
	found, random := 0, rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		put(table, column.State, fmt.Sprintf("%06d", i), fmt.Sprintf("value %06d %s", i, bytes.Repeat([]byte("x"), i%300)))
		back := fmt.Sprintf("%06d", random.IntN(i+1))
		if value, ok := find(table, column.State, back); ok {
			found++
			require.Equal(t, "value "+back, value[:12])
		}
	}
	require.Greater(t, found, 100)
	require.Less(t, found, 10_000)
}

// A table whose positions are used up keeps nothing more, and still finds what it has.
func TestATableWithoutPositionsKeepsNothingMore(t *testing.T) {
	table := newTable(t, 1<<20)
	for i := range table.shards {
		table.head(uint64(i)).Store(lastPosition / table.turn * table.turn)
	}
	put(table, column.State, "k", "v")
	value, ok := find(table, column.State, "k")
	require.True(t, ok)
	require.Equal(t, "v", value)
	for i := range table.shards {
		table.head(uint64(i)).Store(lastPosition + 8)
	}
	put(table, column.State, "l", "v")
	_, ok = find(table, column.State, "l")
	require.False(t, ok)
}

func BenchmarkWrittenRow(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table := newTable(b, 64<<20)
			value := make([]byte, 256)
			hashes, keys := make([]uint64, n), make([][]byte, n)
			for i := range n {
				keys[i] = fmt.Appendf(nil, "%065d", i)
				hashes[i] = table.Hash(column.State, keys[i])
				table.Put(hashes[i], 0, column.State, keys[i], value, always)
			}
			i := 0
			for b.Loop() {
				i = (i + 7919) % n
				h := table.Hash(column.State, keys[i])
				if at, ok := table.Remove(h, column.State, keys[i]); ok {
					table.PutBack(h, at, 0, column.State, keys[i], value)
				}
			}
		})
	}
}
