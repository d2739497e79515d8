package torture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
)

// rows writes batches through the Store service: single rows, many, and changes of
// what is expected to be there. Every row of a batch, and the head that says which
// was the last, is a function of the batch's number.
type rows struct {
	id    byte
	seed  uint64
	rand  *rand.Rand
	acked uint64 // the last batch that was acknowledged
	asked uint64 // the last that was sent
	sure  uint64 // the last that no power cut may lose
	cuts  bool   // there will be some
}

func (w *rows) expectCuts() { w.cuts = true }

func newRows(r *rand.Rand, id byte) worker { return &rows{id: id, seed: r.Uint64(), rand: r} }

func (w *rows) key(kind byte, n uint64, i int) []byte {
	key := append([]byte("stoa.test\x00\x00\x00\x00\x00\x00\x00"), kind, w.id)
	return append(binary.BigEndian.AppendUint64(key, n), byte(i))
}

func (w *rows) head() []byte { return w.key('h', 0, 0) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// batch returns the nth batch. The first change writes the head, the last a row, so
// that a batch in two parts shows.
func (w *rows) batch(n uint64) *engine.Batch {
	b := new(engine.Batch)
	if n%4 == 0 {
		b.Durability = engine.WAL // a kill must not lose that either
	}
	if n%2 == 0 {
		b.Expect(column.Generic, w.head(), number(n-1))
	}
	b.Put(column.Generic, w.head(), number(n))
	for i, v := range w.values(n) {
		b.Put(column.Generic, w.key('r', n, i), v)
	}
	return b
}

func (w *rows) values(n uint64) (values [][]byte) {
	r := rand.New(rand.NewPCG(w.seed, n))
	for range r.IntN(8) {
		v := make([]byte, r.IntN(800))
		for i := range v {
			v[i] = byte(r.Uint32())
		}
		values = append(values, v)
	}
	return values
}

func (w *rows) use(c *rpc.Client) error {
	if w.rand.IntN(4) == 0 {
		var b engine.Batch
		b.Expect(column.Generic, w.head(), number(w.acked+1_000_000))
		b.Put(column.Generic, w.key('x', w.acked, 0), nil)
		if err := c.Store(context.Background()).Apply(&b); err == nil {
			return wrongf("a batch was written whose expectation does not hold")
		} else if !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
	w.asked = w.acked + 1
	b := w.batch(w.asked)
	if err := c.Store(context.Background()).Apply(b); err != nil {
		return err
	}
	w.acked = w.asked
	if !w.cuts || b.Durability == engine.Synced {
		w.sure = w.acked
	}
	return nil
}

func (w *rows) recount(c *rpc.Client) error {
	last := uint64(0)
	v, err := c.Store(context.Background()).Get(nil, column.Generic, w.head())
	switch {
	case err == nil:
		last = binary.BigEndian.Uint64(v)
	case !errors.Is(err, engine.ErrNotFound):
		return err
	}
	if last < w.sure || last > w.asked {
		return wrongf("the last batch is %d; %d were acknowledged, %d asked for", last, w.sure, w.asked)
	}
	it, err := c.Store(context.Background()).Iterate(column.Generic, engine.Prefixed(w.key('r', 0, 0)[:18]))
	if err != nil {
		return err
	}
	defer it.Close()
	for n := uint64(1); n <= last; n++ {
		for i, want := range w.values(n) {
			if !it.Next() {
				if it.Err() != nil {
					return it.Err()
				}
				return wrongf("row %d of batch %d is not there, nor are those after it; the last batch is %d", i, n, last)
			}
			if !bytes.Equal(it.Key(), w.key('r', n, i)) || !bytes.Equal(it.Value(), want) {
				return wrongf("row %x where row %d of batch %d should be", it.Key(), i, n)
			}
		}
	}
	if it.Next() {
		return wrongf("row %x is of no batch up to %d, the last", it.Key(), last)
	}
	w.acked, w.sure = last, last
	return it.Err()
}
