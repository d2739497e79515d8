package bench

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// The shape of a row: a key of 65 bytes, a context id and an app_key of 33, and
// a value of 256, half of it random and half one repeated byte.
const (
	appKeyBytes = 33
	keyBytes    = 32 + appKeyBytes
	valueBytes  = 256
	contexts    = 1000

	batchSmall  = 10
	batchMiddle = 100
	batchLarge  = 1000
	scanEntries = 100
	lookups     = 100
)

// dataset is the rows of a run. Row i is the same in every subject.
type dataset struct{ rows int }

// key returns the key of row i. Rows from data.rows on are not stored at first.
func (d *dataset) key(i int) keys.ContextState {
	var k keys.ContextState
	binary.BigEndian.PutUint64(k.Context[:], spread(uint64(i%contexts)))
	var app [appKeyBytes]byte
	binary.BigEndian.PutUint64(app[:], spread(uint64(i)))
	binary.BigEndian.PutUint64(app[8:], uint64(i))
	k.AppKey = keys.NewBytes(app[:])
	return k
}

// fill writes the value of row i into v, which has valueBytes.
func (d *dataset) fill(v []byte, i int) {
	x := spread(uint64(i) + 1)
	for at := 0; at < valueBytes/2; at += 8 {
		x = spread(x)
		binary.LittleEndian.PutUint64(v[at:], x)
	}
	for at := valueBytes / 2; at < valueBytes; at++ {
		v[at] = byte(i)
	}
}

// load writes all rows through w.
func (d *dataset) load(w engine.Writer) error {
	b := engine.Batch{}
	v := make(codec.Raw, valueBytes)
	for i := range d.rows {
		d.fill(v, i)
		engine.Put(&b, d.key(i), v)
		if b.Len() < batchLarge && i < d.rows-1 {
			continue
		}
		b.Durability = engine.WAL
		if err := w.Apply(&b); err != nil {
			return err
		}
		b.Reset()
	}
	return nil
}

// any returns a row that is stored, each as likely as any other.
func (d *dataset) any(r *rand.Rand) int { return r.IntN(d.rows) }

// missing returns a row that is not stored.
func (d *dataset) missing(r *rand.Rand) int { return d.rows + r.IntN(d.rows) }

// spread is the mixer of SplitMix64 (Steele, Lea, Flood 2014).
func spread(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
