package bench

import (
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// store is what Stoa's engines and its client have in common.
type store interface {
	engine.Reader
	engine.Writer
}

func openMemory(_ Options, data *dataset) ([]*subject, error) {
	e := mem.New()
	s := &subject{name: "mem", close: e.Close, actor: func() (actor, error) { return &typed{raw{db: e, data: data}}, nil }}
	return []*subject{s}, data.load(e)
}

// raw reads and writes bytes.
type raw struct {
	db      store
	data    *dataset
	changes engine.Batch
	key     []byte
	value   [valueBytes]byte
	buf     []byte
	looks   []engine.Lookup
}

func (a *raw) at(row int) []byte {
	a.key, _ = a.data.key(row).AppendBinary(a.key[:0])
	return a.key
}

func (a *raw) get(row int) (err error) {
	a.buf, err = a.db.Get(a.buf[:0], column.State, a.at(row))
	return expect(len(a.buf) == valueBytes, err)
}

func (a *raw) miss(row int) error {
	_, err := a.db.Get(a.buf[:0], column.State, a.at(row))
	return expectMissing(err)
}

func (a *raw) multiGet(rows []int) (err error) {
	if a.looks == nil {
		a.looks = make([]engine.Lookup, len(rows))
	}
	for i, row := range rows {
		l := &a.looks[i]
		l.Column = column.State
		l.Key, _ = a.data.key(row).AppendBinary(l.Key[:0])
	}
	if a.buf, err = a.db.MultiGet(a.buf[:0], a.looks); err != nil {
		return err
	}
	for i := range a.looks {
		if err := expect(len(a.looks[i].Value) == valueBytes, nil); err != nil {
			return err
		}
	}
	return nil
}

func (a *raw) put(row int) error        { return a.write(row, 1, engine.WAL) }
func (a *raw) putSynced(row int) error  { return a.write(row, 1, engine.Synced) }
func (a *raw) batch(first, n int) error { return a.write(first, n, engine.WAL) }

func (a *raw) write(first, n int, d engine.Durability) error {
	b := &a.changes
	b.Reset()
	b.Durability = d
	for i := range n {
		a.data.fill(a.value[:], first+i)
		b.Put(column.State, a.at(first+i), a.value[:])
	}
	return a.db.Apply(b)
}

func (a *raw) scan(row, n int) (int, error) {
	start := a.at(row)
	return a.count(engine.Range{Start: start, End: engine.Successor(start[:32]), Limit: n})
}

func (a *raw) walk() (int, error) { return a.count(engine.Range{}) }

func (a *raw) count(r engine.Range) (n int, err error) {
	it, err := a.db.Iterate(column.State, r)
	if err != nil {
		return 0, err
	}
	for it.Next() {
		if len(it.Key()) != keyBytes || len(it.Value()) != valueBytes {
			err = errors.New("an entry of another size")
		}
		n++
	}
	return n, errors.Join(err, it.Err(), it.Close())
}

func (a *raw) release() error { return nil }

// typed reads and writes through typed keys, where there is a difference.
type typed struct{ raw }

func (a *typed) get(row int) error {
	v, err := engine.Get(a.db, a.data.key(row))
	return expect(len(v) == valueBytes, err)
}

func (a *typed) miss(row int) error {
	_, err := engine.Get(a.db, a.data.key(row))
	return expectMissing(err)
}

func (a *typed) put(row int) error        { return a.write(row, 1, engine.WAL) }
func (a *typed) putSynced(row int) error  { return a.write(row, 1, engine.Synced) }
func (a *typed) batch(first, n int) error { return a.write(first, n, engine.WAL) }

func (a *typed) write(first, n int, d engine.Durability) error {
	b := &a.changes
	b.Reset()
	b.Durability = d
	for i := range n {
		a.data.fill(a.value[:], first+i)
		engine.Put(b, a.data.key(first+i), codec.Raw(a.value[:]))
	}
	return a.db.Apply(b)
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
