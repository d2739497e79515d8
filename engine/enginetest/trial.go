package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// trial is one subtest with its DB.
type trial struct {
	*testing.T
	cfg *Config
	db  DB
	col column.Column // where tests of one column write
}

// key returns the key of the space that ends in s.
func (t *trial) key(s string) []byte {
	return append(bytes.Clone(t.cfg.Space.Prefix), s...)
}

// reopen closes the DB, unless it is closed, and opens its data again.
func (t *trial) reopen() {
	t.Helper()
	if err := t.db.Close(); !errors.Is(err, engine.ErrClosed) {
		require.NoError(t, err)
	}
	t.db = t.cfg.Reopen(t, t.db)
}

// open reports whether bounds may be left out.
func (t *trial) open() bool { return len(t.cfg.Space.Prefix) == 0 }

// bounds returns the range from one key of the space to another; "" leaves a
// bound to the space.
func (t *trial) bounds(from, to string) engine.Range {
	r := engine.Prefixed(t.cfg.Space.Prefix)
	if t.open() {
		r.Start = nil
	}
	if from != "" {
		r.Start = t.key(from)
	}
	if to != "" {
		r.End = t.key(to)
	}
	return r
}

// other returns a second column, or the only one.
func (t *trial) other() column.Column {
	return t.cfg.Space.Columns[len(t.cfg.Space.Columns)-1]
}

// batch returns a batch that is not synced: what is tested is not the disk.
func batch() *engine.Batch { return &engine.Batch{Durability: engine.WAL} }

// put stores pairs of keys and values.
func (t *trial) put(col column.Column, pairs ...string) {
	t.Helper()
	b := batch()
	for i := 0; i < len(pairs); i += 2 {
		b.Put(col, t.key(pairs[i]), []byte(pairs[i+1]))
	}
	require.NoError(t, t.db.Apply(b))
}

// fill stores n entries whose keys start with prefix and sort by their number.
func (t *trial) fill(col column.Column, prefix string, n, valueSize int) (entries []string) {
	t.Helper()
	b := batch()
	for i := range n {
		key, value := fmt.Sprintf("%s%06d", prefix, i), fmt.Sprintf("%0*d", valueSize, i)
		b.Put(col, t.key(key), []byte(value))
		entries = append(entries, key+"="+value)
		if b.Size() > 1<<20 {
			require.NoError(t, t.db.Apply(b))
			*b = *batch()
		}
	}
	require.NoError(t, t.db.Apply(b))
	return entries
}

// requireValue demands that want is stored under key.
func (t *trial) requireValue(r engine.Getter, col column.Column, key, want string) {
	t.Helper()
	got, err := r.Get(nil, col, t.key(key))
	require.NoError(t, err, "%s %q", col, key)
	require.True(t, string(got) == want, "%s %q: %s instead of %s", col, key, short(string(got)), short(want))
}

// requireAbsent demands that nothing is stored under key.
func (t *trial) requireAbsent(r engine.Getter, col column.Column, key string) {
	t.Helper()
	_, err := r.Get(nil, col, t.key(key))
	require.ErrorIs(t, err, engine.ErrNotFound, "%s %q", col, key)
}

// iterate opens an iterator that is closed with the test.
func (t *trial) iterate(r engine.Reader, col column.Column, rg engine.Range) *engine.Iterator {
	t.Helper()
	it, err := r.Iterate(col, rg)
	require.NoError(t, err)
	t.Cleanup(func() { it.Close() })
	return it
}

// list returns the entries of a range as "key=value", without the space's
// prefix.
func (t *trial) list(r engine.Reader, col column.Column, rg engine.Range) []string {
	t.Helper()
	it := t.iterate(r, col, rg)
	entries := t.rest(it)
	require.NoError(t, it.Err())
	require.NoError(t, it.Close())
	return entries
}

// rest returns the entries that are left of an iterator.
func (t *trial) rest(it *engine.Iterator) []string {
	entries := []string{}
	for it.Next() {
		entries = append(entries, t.entry(it.Key(), it.Value()))
	}
	return entries
}

func (t *trial) entry(key, value []byte) string {
	rest, ok := bytes.CutPrefix(key, t.cfg.Space.Prefix)
	require.True(t, ok, "key %x is not in the space", key)
	return string(rest) + "=" + string(value)
}

// all returns the entries of every column of the space.
func (t *trial) all(r engine.Reader) (entries []string) {
	t.Helper()
	for _, col := range t.cfg.Space.Columns {
		for _, e := range t.list(r, col, t.bounds("", "")) {
			entries = append(entries, col.String()+" "+e)
		}
	}
	return entries
}

func (t *trial) snapshot() engine.Snapshot {
	t.Helper()
	s, err := t.db.Snapshot()
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// short cuts long values in messages.
func short(s string) string {
	if len(s) <= 64 {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q... (%d bytes)", s[:48], len(s))
}

// reversed returns entries from the last to the first.
func reversed(entries []string) []string {
	r := make([]string, 0, len(entries))
	for i := len(entries) - 1; i >= 0; i-- {
		r = append(r, entries[i])
	}
	return r
}
