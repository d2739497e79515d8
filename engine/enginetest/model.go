package enginetest

import (
	"bytes"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Model is a naive store: maps, sorted when they are read. The zero Model is
// empty. It is not safe for concurrent use.
type Model struct {
	rows map[column.Column]map[string]string
}

// Apply makes the changes of b, which is well formed, if its expectations hold;
// else it returns engine.ErrConflict.
func (m *Model) Apply(b *engine.Batch) error {
	for e := range b.Expected {
		v, ok := m.rows[e.Column][string(e.Key)]
		if ok == e.Absent || v != string(e.Want) {
			return engine.ErrConflict
		}
	}
	if m.rows == nil {
		m.rows = map[column.Column]map[string]string{}
	}
	for op := range b.Ops {
		if m.rows[op.Column] == nil {
			m.rows[op.Column] = map[string]string{}
		}
		switch rows := m.rows[op.Column]; op.Kind {
		case engine.KindPut:
			rows[string(op.Key)] = string(op.Value)
		case engine.KindDelete:
			delete(rows, string(op.Key))
		case engine.KindDeleteRange:
			for k := range rows {
				if k >= string(op.Key) && k < string(op.Value) {
					delete(rows, k)
				}
			}
		}
	}
	return nil
}

// Get returns the value under key.
func (m *Model) Get(col column.Column, key []byte) (string, bool) {
	v, ok := m.rows[col][string(key)]
	return v, ok
}

// Scan returns keys and values of a range, one after the other.
func (m *Model) Scan(col column.Column, r engine.Range) []string {
	var names []string
	for k := range m.rows[col] {
		if k >= string(r.Start) && (r.End == nil || k < string(r.End)) {
			names = append(names, k)
		}
	}
	sort.Strings(names)
	pairs := []string{}
	for _, k := range names {
		pairs = append(pairs, k, m.rows[col][k])
	}
	return ordered(pairs, r.Reverse, r.Limit)
}

// Clone returns a model of the same rows.
func (m *Model) Clone() *Model {
	c := &Model{rows: map[column.Column]map[string]string{}}
	for col, rows := range m.rows {
		c.rows[col] = make(map[string]string, len(rows))
		for k, v := range rows {
			c.rows[col][k] = v
		}
	}
	return c
}

// sequences is how many random sequences of operations the model is compared
// over, and steps how many operations each has.
const (
	sequences = 60
	steps     = 60
)

// model compares random operations on the DB with a Model. They are drawn from
// a seed each, which a failure names.
func model(t *testing.T, f *fixture) {
	for seed := range Scale(sequences) {
		f.clear()
		p := &pair{fixture: f, rand: rand.New(rand.NewPCG(uint64(seed), 7)), seed: seed}
		ops := []func(){p.apply, p.apply, p.get, p.multiGet, p.scan, p.scan, p.snapshot}
		for range steps {
			ops[p.rand.IntN(len(ops))]()
		}
		p.drop()
	}
}

// pair is the DB and the model of it, and a snapshot of both.
type pair struct {
	*fixture
	rand  *rand.Rand
	seed  int
	model Model

	taken   engine.Snapshot // nil if none is
	ofModel *Model
}

// clear deletes what earlier sequences have left.
func (f *fixture) clear() {
	f.t.Helper()
	f.apply(func(b *engine.Batch) {
		for _, col := range f.config.Space.Columns {
			b.DeleteRange(col, f.key(""), f.key("\xff\xff\xff\xff\xff"))
		}
	})
}

func (p *pair) anyColumn() column.Column {
	return p.config.Space.Columns[p.rand.IntN(len(p.config.Space.Columns))]
}

// anyKey draws from few keys, some of them prefixes of others, so that
// operations meet.
func (p *pair) anyKey() []byte {
	alphabet := []byte{0, 'a', 'b', 0xFE}
	k := p.key("")
	for range p.rand.IntN(4) {
		k = append(k, alphabet[p.rand.IntN(len(alphabet))])
	}
	if p.rand.IntN(4) == 0 { // beyond the prefixes that filters cover
		k = append(k, bytes.Repeat([]byte{'p'}, 40)...)
	}
	return k
}

func (p *pair) anyRange() engine.Range {
	r := engine.Range{Start: p.anyKey(), End: p.anyKey(), Reverse: p.rand.IntN(2) == 0, Limit: p.rand.IntN(6)}
	switch p.rand.IntN(4) {
	case 0:
		r.Start, r.End = p.all().Start, p.all().End
	case 1:
		prefixed := engine.Prefixed(r.Start)
		r.End = prefixed.End
	}
	return r
}

func (p *pair) apply() {
	p.t.Helper()
	b := made(func(b *engine.Batch) {
		for range p.rand.IntN(6) {
			switch col, key := p.anyColumn(), p.anyKey(); p.rand.IntN(8) {
			case 0:
				b.Delete(col, key)
			case 1:
				if end := p.anyKey(); bytes.Compare(key, end) < 0 {
					b.DeleteRange(col, key, end)
				}
			default:
				b.Put(col, key, bytes.Repeat([]byte{byte(p.rand.IntN(256))}, p.rand.IntN(300)))
			}
		}
		if p.rand.IntN(4) == 0 {
			col, key := p.anyColumn(), p.anyKey()
			if v, ok := p.model.Get(col, key); ok && p.rand.IntN(2) == 0 {
				b.Expect(col, key, []byte(v))
			} else {
				b.ExpectAbsent(col, key)
			}
		}
	})
	want, got := p.model.Apply(b), p.db.Apply(b)
	if want != nil {
		require.ErrorIs(p.t, got, want, "seed %d", p.seed)
		return
	}
	require.NoError(p.t, got, "seed %d", p.seed)
}

// either returns the present state, or that of the snapshot if there is one.
func (p *pair) either() (engine.Reader, *Model) {
	if p.taken != nil && p.rand.IntN(2) == 0 {
		return p.taken, p.ofModel
	}
	return p.db, &p.model
}

func (p *pair) get() {
	p.t.Helper()
	db, m := p.either()
	col, key := p.anyColumn(), p.anyKey()
	want, ok := m.Get(col, key)
	got, err := db.Get(nil, col, key)
	if !ok {
		require.ErrorIs(p.t, err, engine.ErrNotFound, "seed %d: %s %x", p.seed, col, key)
		return
	}
	require.NoError(p.t, err, "seed %d: %s %x", p.seed, col, key)
	require.Equal(p.t, want, string(got), "seed %d: %s %x", p.seed, col, key)
}

func (p *pair) multiGet() {
	p.t.Helper()
	db, m := p.either()
	l := make([]engine.Lookup, p.rand.IntN(20))
	for i := range l {
		l[i] = engine.Lookup{Column: p.anyColumn(), Key: p.anyKey()}
	}
	_, err := db.MultiGet(nil, l)
	require.NoError(p.t, err, "seed %d", p.seed)
	for i := range l {
		want, ok := m.Get(l[i].Column, l[i].Key)
		require.Equal(p.t, ok, l[i].Found, "seed %d: %s %x", p.seed, l[i].Column, l[i].Key)
		require.Equal(p.t, want, string(l[i].Value), "seed %d: %s %x", p.seed, l[i].Column, l[i].Key)
	}
}

func (p *pair) scan() {
	p.t.Helper()
	db, m := p.either()
	col, r := p.anyColumn(), p.anyRange()
	want := m.Scan(col, r)
	for i := 0; i < len(want); i += 2 {
		want[i] = want[i][len(p.config.Space.Prefix):]
	}
	require.Equal(p.t, want, p.scanIn(db, col, r), "seed %d: %s %+v", p.seed, col, r)
}

func (p *pair) snapshot() {
	p.t.Helper()
	p.drop()
	var err error
	p.taken, err = p.db.Snapshot()
	require.NoError(p.t, err)
	p.ofModel = p.model.Clone()
}

func (p *pair) drop() {
	p.t.Helper()
	if p.taken != nil {
		require.NoError(p.t, p.taken.Close())
	}
	p.taken, p.ofModel = nil, nil
}
