package bench

import (
	"encoding/binary"
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// store is what Stoa's engines and its client have in common.
type store interface {
	engine.Reader
	engine.Writer
}

func openMemory(_ Options, data *Dataset) ([]*Subject, error) {
	e := mem.New()
	s := &Subject{Name: "mem", Typed: true, Close: e.Close, Actor: func() (Actor, error) { return hands{&typed{raw{db: e, data: data}}, newMetas(e)}, nil }}
	return []*Subject{s}, errors.Join(data.load(e), loadMeta(e))
}

// raw reads and writes bytes.
type raw struct {
	db      store
	data    *Dataset
	changes engine.Batch
	key     []byte
	value   [ValueBytes]byte
	buf     []byte
	looks   []engine.Lookup
}

func (a *raw) at(row int) []byte {
	a.key, _ = a.data.Key(row).AppendBinary(a.key[:0])
	return a.key
}

func (a *raw) Get(row int) (err error) {
	a.buf, err = a.db.Get(a.buf[:0], column.State, a.at(row))
	return expect(len(a.buf) == ValueBytes, err)
}

func (a *raw) Miss(row int) error {
	_, err := a.db.Get(a.buf[:0], column.State, a.at(row))
	return expectMissing(err)
}

func (a *raw) MultiGet(rows []int) (err error) {
	if a.looks == nil {
		a.looks = make([]engine.Lookup, len(rows))
	}
	for i, row := range rows {
		l := &a.looks[i]
		l.Column = column.State
		l.Key, _ = a.data.Key(row).AppendBinary(l.Key[:0])
	}
	if a.buf, err = a.db.MultiGet(a.buf[:0], a.looks); err != nil {
		return err
	}
	for i := range a.looks {
		if err := expect(len(a.looks[i].Value) == ValueBytes, nil); err != nil {
			return err
		}
	}
	return nil
}

func (a *raw) Put(row int) error        { return a.write(row, 1, engine.WAL) }
func (a *raw) PutSynced(row int) error  { return a.write(row, 1, engine.Synced) }
func (a *raw) Batch(first, n int) error { return a.write(first, n, engine.WAL) }

func (a *raw) write(first, n int, d engine.Durability) error {
	b := &a.changes
	b.Reset()
	b.Durability = d
	for i := range n {
		a.data.Fill(a.value[:], first+i)
		b.Put(column.State, a.at(first+i), a.value[:])
	}
	return a.db.Apply(b)
}

func (a *raw) Scan(row, n int) (int, error) {
	start := a.at(row)
	return a.count(engine.Range{Start: start, End: engine.Successor(start[:ContextBytes]), Limit: n})
}

func (a *raw) Walk() (int, error) { return a.count(engine.Range{}) }

func (a *raw) count(r engine.Range) (n int, err error) {
	it, err := a.db.Iterate(column.State, r)
	if err != nil {
		return 0, err
	}
	for it.Next() {
		if len(it.Key()) != KeyBytes || len(it.Value()) != ValueBytes {
			err = errors.New("an entry of another size")
		}
		n++
	}
	return n, errors.Join(err, it.Err(), it.Close())
}

func (a *raw) Release() error { return nil }

// typed reads and writes through typed keys, where there is a difference.
type typed struct{ raw }

func (a *typed) Get(row int) error {
	v, err := engine.Get(a.db, a.data.Key(row))
	return expect(len(v) == ValueBytes, err)
}

func (a *typed) Miss(row int) error {
	_, err := engine.Get(a.db, a.data.Key(row))
	return expectMissing(err)
}

func (a *typed) Put(row int) error        { return a.write(row, 1, engine.WAL) }
func (a *typed) PutSynced(row int) error  { return a.write(row, 1, engine.Synced) }
func (a *typed) Batch(first, n int) error { return a.write(first, n, engine.WAL) }

func (a *typed) write(first, n int, d engine.Durability) error {
	b := &a.changes
	b.Reset()
	b.Durability = d
	for i := range n {
		a.data.Fill(a.value[:], first+i)
		engine.Put(b, a.data.Key(first+i), codec.Raw(a.value[:]))
	}
	return a.db.Apply(b)
}

// hands are those of an actor on rows, and on metadata.
type hands struct {
	Actor
	MetaActor
}

// metas reads and writes metadata as values.
type metas struct {
	db      store
	changes engine.Batch
	values  []codec.ContextMetaValue
	touched uint64
}

func newMetas(db store) *metas {
	m := &metas{db: db}
	for i := range Metas {
		m.values = append(m.values, meta(i))
	}
	return m
}

func (m *metas) GetMeta(i int) error {
	v, err := engine.Get(m.db, metaKey(i))
	return expect(len(v.DagHeads) == 2, err)
}

func (m *metas) WriteMeta(first, n int) error {
	m.changes.Reset()
	m.changes.Durability = engine.WAL
	for i := first; i < first+n; i++ {
		m.touched++
		touch(&m.values[i], m.touched)
		engine.Put(&m.changes, metaKey(i), m.values[i])
	}
	return m.db.Apply(&m.changes)
}

func (m *metas) ScanMeta(i, n int) (found int, err error) {
	from := metaKey(i)
	for e, err := range engine.ScanWindow(m.db, keys.Prefix[keys.ContextMeta]{}, engine.Window[keys.ContextMeta]{From: &from, Limit: n}) {
		if err := expect(len(e.Value.DagHeads) == 2, err); err != nil {
			return found, err
		}
		found++
	}
	return found, nil
}

// metaBytes are the stored forms of metadata.
type metaBytes struct {
	keys, values [][]byte
	touched      uint64
}

// touch makes the next change of the metadata of context i.
func (m *metaBytes) touch(i int) {
	m.touched++
	touchBytes(m.values[i], m.touched)
}

// touchBytes is touch of the stored form.
func touchBytes(v []byte, n uint64) { binary.LittleEndian.PutUint64(v[len(v)-rootFromEnd:], spread(n)) }

// rawMetas reads and writes them.
type rawMetas struct {
	metaBytes
	db      store
	changes engine.Batch
	buf     []byte
}

func newRawMetas(db store) (*rawMetas, error) {
	bytes, err := metaRows()
	return &rawMetas{metaBytes: bytes, db: db}, err
}

func (m *rawMetas) GetMeta(i int) (err error) {
	m.buf, err = m.db.Get(m.buf[:0], column.Meta, m.keys[i])
	return expect(len(m.buf) == len(m.values[i]), err)
}

func (m *rawMetas) WriteMeta(first, n int) error {
	m.changes.Reset()
	m.changes.Durability = engine.WAL
	for i := first; i < first+n; i++ {
		m.touch(i)
		m.changes.Put(column.Meta, m.keys[i], m.values[i])
	}
	return m.db.Apply(&m.changes)
}

func (m *rawMetas) ScanMeta(i, n int) (found int, err error) {
	it, err := m.db.Iterate(column.Meta, engine.Range{Start: m.keys[i], Limit: n})
	if err != nil {
		return 0, err
	}
	for it.Next() {
		if len(it.Value()) != len(m.values[0]) {
			err = errors.New("an entry of another size")
		}
		found++
	}
	return found, errors.Join(err, it.Err(), it.Close())
}

func expect(ok bool, err error) error {
	if err == nil && !ok {
		return errors.New("a value of another size")
	}
	return err
}

func expectMissing(err error) error {
	if err == nil {
		return errors.New("a row that should not be stored is")
	}
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	return err
}
