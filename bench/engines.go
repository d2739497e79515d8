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
	s := &Subject{Name: "mem", Typed: true, Close: e.Close, Actor: func() (Actor, error) { return newTyped(e, data), nil }}
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

	metaKeys, metas [][]byte
	touched         uint64
}

// withMeta has the bytes of metadata at hand.
func withMeta(a *raw) (_ *raw, err error) {
	a.metaKeys, a.metas, err = metaRows()
	return a, err
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

func (a *raw) GetMeta(i int) (err error) {
	a.buf, err = a.db.Get(a.buf[:0], column.Meta, a.metaKeys[i])
	return expect(len(a.buf) == len(a.metas[i]), err)
}

func (a *raw) WriteMeta(first, n int) error {
	b := &a.changes
	b.Reset()
	b.Durability = engine.WAL
	for i := first; i < first+n; i++ {
		a.touched++
		touchBytes(a.metas[i], a.touched)
		b.Put(column.Meta, a.metaKeys[i], a.metas[i])
	}
	return a.db.Apply(b)
}

// touchBytes is touch of the stored form.
func touchBytes(v []byte, n uint64) { binary.LittleEndian.PutUint64(v[len(v)-rootFromEnd:], spread(n)) }

func (a *raw) ScanMeta(i, n int) (found int, err error) {
	it, err := a.db.Iterate(column.Meta, engine.Range{Start: a.metaKeys[i], Limit: n})
	if err != nil {
		return 0, err
	}
	for it.Next() {
		if len(it.Value()) != len(a.metas[0]) {
			err = errors.New("an entry of another size")
		}
		found++
	}
	return found, errors.Join(err, it.Err(), it.Close())
}

func (a *raw) Release() error { return nil }

// typed reads and writes through typed keys, where there is a difference.
type typed struct {
	raw
	values []codec.ContextMetaValue
}

func newTyped(db store, data *Dataset) *typed {
	a := &typed{raw: raw{db: db, data: data}}
	for i := range Metas {
		a.values = append(a.values, meta(i))
	}
	return a
}

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

func (a *typed) GetMeta(i int) error {
	v, err := engine.Get(a.db, metaKey(i))
	return expect(len(v.DagHeads) == 2, err)
}

func (a *typed) WriteMeta(first, n int) error {
	b := &a.changes
	b.Reset()
	b.Durability = engine.WAL
	for i := first; i < first+n; i++ {
		a.touched++
		touch(&a.values[i], a.touched)
		engine.Put(b, metaKey(i), a.values[i])
	}
	return a.db.Apply(b)
}

func (a *typed) ScanMeta(i, n int) (found int, err error) {
	from := metaKey(i)
	for e, err := range engine.ScanWindow(a.db, keys.Prefix[keys.ContextMeta]{}, engine.Window[keys.ContextMeta]{From: &from, Limit: n}) {
		if err := expect(len(e.Value.DagHeads) == 2, err); err != nil {
			return found, err
		}
		found++
	}
	return found, nil
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
