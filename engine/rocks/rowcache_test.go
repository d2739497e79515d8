package rocks

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks/rows"
)

// TestARowThatIsKeptIsTheOneThatIsStored reads and writes a model through a row
// cache that is too small for it. Reads overlap writes: each is begun, reads the
// model and is ended at any time.
func TestARowThatIsKeptIsTheOneThatIsStored(t *testing.T) {
	hits := 0
	enginetest.Check(t, 300, func(t *rapid.T) {
		c, err := newRowCache(64<<10, sharedBytes(64<<10))
		require.NoError(t, err)
		defer c.close()
		m := keptModel{c: c, stored: make(map[string][]byte)}
		t.Repeat(map[string]func(*rapid.T){
			"read":  m.read,
			"end":   m.endRead,
			"begin": m.begin,
			"write": m.write,
			"":      func(*rapid.T) {},
		})
		hits += m.hits
	})
	require.Positive(t, hits)
}

// sharedBytes are so many bytes where the system has memory that is shared.
func sharedBytes(n int64) int64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	return n
}

// keptModel is a database of few rows behind a row cache.
type keptModel struct {
	c       *rowCache
	stored  map[string][]byte
	reads   []keptRead
	writing []engine.Op // begun, and not visible yet
	batch   []byte      // of it
	hits    int
}

// keptRead is a read that has missed the cache.
type keptRead struct {
	version rowVersion
	col     column.Column
	key     string
	value   []byte // of the database, when it was read
}

func modelRow(t *rapid.T) (column.Column, string) {
	col := rapid.SampledFrom([]column.Column{column.State, column.Generic}).Draw(t, "column")
	return col, rapid.SampledFrom([]string{"", "a", "b", "bb", "c"}).Draw(t, "key")
}

func named(col column.Column, key string) string { return col.String() + "/" + key }

// read looks a row up, in the cache and then in the database.
func (m *keptModel) read(t *rapid.T) {
	col, key := modelRow(t)
	since := m.c.writeCount()
	value, p, ok := m.c.find([]byte("before"), col, []byte(key))
	stored, there := m.stored[named(col, key)]
	if ok {
		m.hits++
		require.True(t, there, "a row that is not stored is kept")
		require.Equal(t, "before"+string(stored), string(value))
		require.Equal(t, m.writing == nil, m.c.unchanged(since))
	} else if there {
		m.reads = append(m.reads, keptRead{p, col, key, stored})
	}
}

// endRead ends one of the reads that are under way.
func (m *keptModel) endRead(t *rapid.T) {
	if len(m.reads) == 0 {
		t.Skip("none")
	}
	i := rapid.IntRange(0, len(m.reads)-1).Draw(t, "read")
	r := m.reads[i]
	m.reads = append(m.reads[:i], m.reads[i+1:]...)
	m.c.add(r.version, r.col, []byte(r.key), r.value)
}

func (m *keptModel) begin(t *rapid.T) {
	if m.writing != nil {
		t.Skip("one at a time")
	}
	var b engine.Batch
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		col, key := modelRow(t)
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			b.DeleteRange(col, []byte(key), []byte(key+"b"))
		case 1:
			b.Delete(col, []byte(key))
		default:
			b.Put(col, []byte(key), bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.SampledFrom([]int{0, 1, 30, 31, 60, 61, 200}).Draw(t, "size")))
		}
	}
	m.batch = b.Bytes()
	m.c.begin(m.batch)
	for op, err := range b.Ops {
		require.NoError(t, err)
		m.writing = append(m.writing, op)
	}
}

// write makes the changes that were begun visible, and ends or leaves it at that.
func (m *keptModel) write(t *rapid.T) {
	if m.writing == nil {
		t.Skip("none")
	}
	for _, op := range m.writing {
		switch op.Kind {
		case engine.KindPut:
			m.stored[named(op.Column, string(op.Key))] = op.Value
		case engine.KindDelete:
			delete(m.stored, named(op.Column, string(op.Key)))
		case engine.KindDeleteRange:
			for name := range m.stored {
				if name >= named(op.Column, string(op.Key)) && name < named(op.Column, string(op.Value)) {
					delete(m.stored, name)
				}
			}
		}
	}
	if rapid.Bool().Draw(t, "end") {
		m.c.end(rapid.Bool().Draw(t, "written"))
		m.writing = nil
	} else {
		m.writing = m.writing[:0]
	}
}

// TestARowThatIsReadAndWrittenIsKeptOn holds a write to leaving what it changed.
func TestARowThatIsReadAndWrittenIsKeptOn(t *testing.T) {
	c, err := newRowCache(mib, 0)
	require.NoError(t, err)
	defer c.close()
	write := func(written bool, fill func(b *engine.Batch)) {
		var b engine.Batch
		fill(&b)
		c.begin(b.Bytes())
		c.end(written)
	}
	is := func(want string) {
		got, _, ok := c.find(nil, column.State, []byte("k"))
		require.Equal(t, want != "", ok)
		require.Equal(t, want, string(got))
	}
	put := func(value string) func(b *engine.Batch) {
		return func(b *engine.Batch) { b.Put(column.State, []byte("k"), []byte(value)) }
	}
	write(true, put("0"))
	is("") // nobody has read it
	_, p, _ := c.find(nil, column.State, []byte("k"))
	c.add(p, column.State, []byte("k"), []byte("0"))
	write(true, put("1"))
	is("1")
	write(true, func(b *engine.Batch) { put("2")(b); put("3")(b) })
	is("3")
	write(true, func(b *engine.Batch) { put("4")(b); b.Delete(column.State, []byte("k")) })
	is("")
	write(true, put("5"))
	is("")
	_, p, _ = c.find(nil, column.State, []byte("k"))
	c.add(p, column.State, []byte("k"), []byte("5"))
	write(false, put("6"))
	is("") // what is stored is not known
}

// TestRowsThatAreReadOftenStay reads some rows again and again while others pass.
func TestRowsThatAreReadOftenStay(t *testing.T) {
	c, err := newRowCache(mib, 0)
	require.NoError(t, err)
	defer c.close()
	value := bytes.Repeat([]byte("v"), 256)
	look := func(key string) bool {
		_, p, ok := c.find(nil, column.State, []byte(key))
		if !ok {
			c.add(p, column.State, []byte(key), value)
		}
		return ok
	}
	missed := 0
	for i := range 50_000 {
		look(wide(1000 + i)) // passes, 15 MB in all
		if hot := wide(i % 100); !look(hot) {
			missed++
		}
	}
	require.Less(t, missed, 500, "of 50,000")
}

// TestRowsThatAreWrittenAgainTakeNoRoom writes a few rows that are kept again and
// again: the others stay.
func TestRowsThatAreWrittenAgainTakeNoRoom(t *testing.T) {
	c, err := newRowCache(8*mib, 0)
	require.NoError(t, err)
	defer c.close()
	const many, often = 3000, 10 // 4.5 MB in all
	for i := range many {
		_, p, _ := c.find(nil, column.State, []byte(wide(i)))
		c.add(p, column.State, []byte(wide(i)), make([]byte, 1400))
	}
	const rounds = 5_000
	value := func(round, i int) []byte { return bytes.Repeat([]byte{byte(round + i)}, 1400+round/rounds*i) }
	for round := range rounds + 1 { // longer in the end
		var b engine.Batch
		for i := range often {
			b.Put(column.State, []byte(wide(i)), value(round, i))
		}
		c.begin(b.Bytes())
		c.end(true)
	}
	found := 0
	for i := range many {
		got, _, ok := c.find(nil, column.State, []byte(wide(i)))
		switch {
		case i < often:
			require.True(t, ok, "row %d", i)
			require.Equal(t, value(rounds, i), got)
		case ok:
			found++
			require.Equal(t, make([]byte, 1400), got)
		}
	}
	require.Greater(t, found, many*9/10)
}

func TestLargeRowsAreNotKept(t *testing.T) {
	c, err := newRowCache(64*mib, 0)
	require.NoError(t, err)
	defer c.close()
	for size, want := range map[int]bool{0: true, rows.MaxRow - 32: true, rows.MaxRow - 31: false, 1 << 20: false} {
		key := []byte(wide(size))
		_, p, _ := c.find(nil, column.State, key)
		c.add(p, column.State, key, make([]byte, size))
		_, _, ok := c.find(nil, column.State, key)
		require.Equal(t, want, ok, "%d", size)
	}
}

// wide is a key of 32 bytes.
func wide(i int) string { return fmt.Sprintf("%032d", i) }

func BenchmarkKeptRow(b *testing.B) {
	c, err := newRowCache(64*mib, 0)
	require.NoError(b, err)
	defer c.close()
	var keys [][]byte
	value := make([]byte, 256)
	for i := range 100_000 {
		keys = append(keys, []byte(wide(i)+wide(i)))
		_, p, _ := c.find(nil, column.State, keys[i])
		c.add(p, column.State, keys[i], value)
	}
	i, found := 0, 0
	for b.Loop() {
		i = (i + 7919) % len(keys)
		var ok bool
		if value, _, ok = c.find(value[:0], column.State, keys[i]); ok {
			found++
		}
	}
	b.ReportMetric(float64(found)/float64(b.N), "found")
}
