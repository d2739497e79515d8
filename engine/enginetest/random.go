package enginetest

import (
	"bytes"
	"errors"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

var random = promise{
	"any sequence of operations does what it does to a map", func(t *trial) {
		Check(t.T, 100, func(rt *rapid.T) {
			s := &sequence{T: rt, trial: t, stored: model{}}
			s.clear()
			defer s.release()
			actions := map[string]func(*rapid.T){
				"apply":    s.do(s.apply),
				"apply 2":  s.do(s.apply),
				"guarded":  s.do(s.applyGuarded),
				"get":      s.do(s.get),
				"multiget": s.do(s.multiGet),
				"list":     s.do(s.list),
				"iterate":  s.do(s.iterate),
				"advance":  s.do(s.advance),
				"snapshot": s.do(s.snapshot),
				"release":  s.do(s.release),
			}
			if _, ok := t.db.(updater); ok {
				actions["update"] = s.do(s.update)
			}
			if t.cfg.Reopen != nil {
				actions["reopen"] = s.do(s.reopen)
			}
			rt.Repeat(actions)
		})
	},
}

// sequence is one run of random operations on a DB and on a model of it.
type sequence struct {
	*rapid.T
	trial  *trial
	stored model
	states []state // snapshots that are open
	walks  []walk  // iterators that are open
}

// state is what a snapshot, or the DB, has to hold.
type state struct {
	reader engine.Reader
	model  model
}

// walk is an iterator and what is ahead of it.
type walk struct {
	it    *engine.Iterator
	ahead []row
	model model
}

// do makes fn an action of a run, drawing from the run's current T.
func (s *sequence) do(fn func()) func(*rapid.T) {
	return func(t *rapid.T) {
		s.T = t
		fn()
	}
}

// clear empties the space, which earlier runs have used.
func (s *sequence) clear() {
	b := batch()
	for _, col := range s.trial.cfg.Space.Columns {
		for _, at := range s.read(s.trial.db, col, s.trial.bounds("", "")) {
			b.Delete(col, []byte(at.key))
		}
	}
	require.NoError(s, s.trial.db.Apply(b))
}

var (
	chars    = rapid.SampledFrom([]byte{0x00, 'a', 'b', 0xFF})
	drawKey  = rapid.SliceOfN(chars, 0, 4)
	drawText = rapid.OneOf(
		rapid.SampledFrom([]string{"", "x", "y"}),
		rapid.StringN(0, 40, -1),
		rapid.Map(rapid.IntRange(1, 40_000), func(n int) string { return strings.Repeat("v", n) }),
	)
)

func (s *sequence) row() row {
	cols := s.trial.cfg.Space.Columns
	col := rapid.SampledFrom(cols[:min(3, len(cols))]).Draw(s.T, "column")
	return row{col, string(s.trial.key(string(drawKey.Draw(s.T, "key"))))}
}

func (s *sequence) changes() (changes []change, b *engine.Batch) {
	b = &engine.Batch{Durability: engine.WAL}
	for range rapid.IntRange(0, 8).Draw(s.T, "changes") {
		c := change{kind: engine.Kind(rapid.IntRange(1, 3).Draw(s.T, "kind")), row: s.row()}
		switch c.kind {
		case engine.KindPut:
			c.value = drawText.Draw(s.T, "value")
			b.Put(c.col, []byte(c.key), []byte(c.value))
		case engine.KindDelete:
			b.Delete(c.col, []byte(c.key))
		case engine.KindDeleteRange:
			if c.value = s.row().key; c.value <= c.key {
				c.value = c.key + "\x00"
			}
			b.DeleteRange(c.col, []byte(c.key), []byte(c.value))
		}
		changes = append(changes, c)
	}
	return changes, b
}

func (s *sequence) apply() {
	changes, b := s.changes()
	require.NoError(s, s.trial.db.Apply(b))
	s.stored.apply(changes)
}

func (s *sequence) applyGuarded() {
	changes, b := s.changes()
	var expected []change
	for range rapid.IntRange(1, 3).Draw(s.T, "expectations") {
		e := change{row: s.row()}
		v, found := s.stored[e.row]
		switch honest := rapid.IntRange(0, 4).Draw(s.T, "honest") > 0; {
		case found == honest:
			if e.value = v; !honest {
				e.value = "x"
			}
			b.Expect(e.col, []byte(e.key), []byte(e.value))
		default:
			e.absent = true
			b.ExpectAbsent(e.col, []byte(e.key))
		}
		expected = append(expected, e)
	}
	err := s.trial.db.Apply(b)
	if wrong := s.stored.violated(expected); wrong != nil {
		var c *engine.Conflict
		require.True(s, errors.As(err, &c), "%v", err)
		require.Equal(s, engine.Conflict{Column: wrong.col, Key: []byte(wrong.key), Absent: wrong.absent}, *c)
		return
	}
	require.NoError(s, err)
	s.stored.apply(changes)
}

func (s *sequence) update() {
	changes, b := s.changes()
	reads := []row{s.row(), s.row(), s.row()}
	failure := errors.New("no")
	fails := rapid.IntRange(0, 4).Draw(s.T, "fails") == 0
	err := s.trial.update(func(g engine.Getter, into *engine.Batch) error {
		for _, at := range reads {
			s.requireGet(g, s.stored, at)
		}
		into.Durability = engine.WAL
		for op := range b.Ops {
			switch op.Kind {
			case engine.KindPut:
				into.Put(op.Column, op.Key, op.Value)
			case engine.KindDelete:
				into.Delete(op.Column, op.Key)
			case engine.KindDeleteRange:
				into.DeleteRange(op.Column, op.Key, op.Value)
			}
		}
		if fails {
			return failure
		}
		return nil
	})
	if fails {
		require.ErrorIs(s, err, failure)
		return
	}
	require.NoError(s, err)
	s.stored.apply(changes)
}

// source returns the DB, or a snapshot.
func (s *sequence) source() state {
	i := rapid.IntRange(-1, len(s.states)-1).Draw(s.T, "source")
	if i < 0 {
		return state{s.trial.db, s.stored}
	}
	return s.states[i]
}

func (s *sequence) get() {
	from := s.source()
	s.requireGet(from.reader, from.model, s.row())
}

func (s *sequence) requireGet(g engine.Getter, m model, at row) {
	got, err := g.Get([]byte("dst"), at.col, []byte(at.key))
	want, found := m[at]
	if !found {
		require.ErrorIs(s, err, engine.ErrNotFound)
	} else {
		require.NoError(s, err)
	}
	require.True(s, string(got) == "dst"+want, "%q: %s instead of %s", at.key, short(string(got)), short("dst"+want))
}

func (s *sequence) multiGet() {
	from := s.source()
	lookups := make([]engine.Lookup, rapid.IntRange(0, 10).Draw(s.T, "lookups"))
	for i := range lookups {
		at := s.row()
		lookups[i] = engine.Lookup{Column: at.col, Key: []byte(at.key)}
	}
	_, err := from.reader.MultiGet(nil, lookups)
	require.NoError(s, err)
	for _, l := range lookups {
		want, found := from.model[row{l.Column, string(l.Key)}]
		require.Equal(s, found, l.Found)
		require.True(s, string(l.Value) == want)
	}
}

func (s *sequence) bounds() (column.Column, engine.Range) {
	r := s.trial.bounds("", "")
	at := s.row()
	if rapid.Bool().Draw(s.T, "start") {
		r.Start = []byte(at.key)
	}
	if rapid.Bool().Draw(s.T, "end") {
		r.End = []byte(s.row().key)
	}
	r.Reverse = rapid.Bool().Draw(s.T, "reverse")
	r.Limit = rapid.IntRange(0, 5).Draw(s.T, "limit")
	return at.col, r
}

// read returns the rows of a range; their values stay behind.
func (s *sequence) read(r engine.Reader, col column.Column, rg engine.Range) (rows []row) {
	it, err := r.Iterate(col, rg)
	require.NoError(s, err)
	for it.Next() {
		rows = append(rows, row{col, string(it.Key())})
	}
	require.NoError(s, it.Err())
	require.NoError(s, it.Close())
	return rows
}

func (s *sequence) list() {
	from := s.source()
	col, r := s.bounds()
	require.Equal(s, from.model.rows(col, r), s.read(from.reader, col, r))
}

func (s *sequence) iterate() {
	from := s.source()
	col, r := s.bounds()
	it, err := from.reader.Iterate(col, r)
	require.NoError(s, err)
	s.walks = append(s.walks, walk{it, from.model.rows(col, r), from.model.clone()})
}

// advance takes some steps with one of the open iterators.
func (s *sequence) advance() {
	if len(s.walks) == 0 {
		return
	}
	w := &s.walks[rapid.IntRange(0, len(s.walks)-1).Draw(s.T, "iterator")]
	for range rapid.IntRange(1, 6).Draw(s.T, "steps") {
		if !w.it.Next() {
			require.NoError(s, w.it.Err())
			require.Empty(s, w.ahead)
			return
		}
		require.NotEmpty(s, w.ahead)
		at := w.ahead[0]
		require.True(s, bytes.Equal([]byte(at.key), w.it.Key()), "%q instead of %q", w.it.Key(), at.key)
		require.True(s, w.model[at] == string(w.it.Value()))
		w.ahead = w.ahead[1:]
	}
}

func (s *sequence) snapshot() {
	if len(s.states) == 4 {
		return
	}
	snap, err := s.trial.db.Snapshot()
	require.NoError(s, err)
	s.states = append(s.states, state{snap, s.stored.clone()})
}

// release closes what is open.
func (s *sequence) release() {
	for _, w := range s.walks {
		require.NoError(s, w.it.Close())
	}
	for _, st := range s.states {
		require.NoError(s, st.reader.(engine.Snapshot).Close())
	}
	s.walks, s.states = nil, nil
}

// reopen is rare: it is slow.
func (s *sequence) reopen() {
	if rapid.IntRange(0, 9).Draw(s.T, "rare") > 0 {
		return
	}
	s.release()
	s.trial.reopen()
	for _, col := range s.trial.cfg.Space.Columns {
		require.Equal(s, s.stored.rows(col, s.trial.bounds("", "")), s.read(s.trial.db, col, s.trial.bounds("", "")))
	}
}
