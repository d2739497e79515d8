package bench

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// The shape of a row: a key, which is a context id and an app_key of 33 bytes,
// and a value, half of it random and half one repeated byte. Sizes are in bytes.
const (
	ContextBytes = 32 // ContextBytes is the size of the part of a key that Scan stays within.
	KeyBytes     = ContextBytes + appKeyBytes
	ValueBytes   = 256

	appKeyBytes = 33
	contexts    = 1000

	batchSmall  = 10
	batchMiddle = 100
	batchLarge  = 1000
	scanEntries = 100
	lookups     = 100
)

// Dataset is the rows of a run. Row i is the same in every subject.
type Dataset struct {
	// Rows is how many rows are stored: 0 to Rows-1.
	Rows int
}

// Key returns the key of row i. Rows from d.Rows on are not stored at first.
func (d *Dataset) Key(i int) keys.ContextState {
	var k keys.ContextState
	binary.BigEndian.PutUint64(k.Context[:], spread(uint64(i%contexts)))
	var app [appKeyBytes]byte
	binary.BigEndian.PutUint64(app[:], spread(uint64(i)))
	binary.BigEndian.PutUint64(app[8:], uint64(i))
	k.AppKey = keys.NewBytes(app[:])
	return k
}

// Fill writes the value of row i into v, which has ValueBytes.
func (d *Dataset) Fill(v []byte, i int) {
	x := spread(uint64(i) + 1)
	for at := 0; at < ValueBytes/2; at += 8 {
		x = spread(x)
		binary.LittleEndian.PutUint64(v[at:], x)
	}
	for at := ValueBytes / 2; at < ValueBytes; at++ {
		v[at] = byte(i)
	}
}

// load writes all rows through w.
func (d *Dataset) load(w engine.Writer) error {
	b := engine.Batch{}
	v := make(codec.Raw, ValueBytes)
	for i := range d.Rows {
		d.Fill(v, i)
		engine.Put(&b, d.Key(i), v)
		if b.Len() < batchLarge && i < d.Rows-1 {
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

// Metas is how many contexts have metadata beside the rows: values of column Meta, in borsh, of fields
// of several kinds. Workloads whose names begin with typed- read and write them.
const Metas = contexts

// metaKey returns the key of the metadata of context i.
func metaKey(i int) (k keys.ContextMeta) {
	binary.BigEndian.PutUint64(k.Context[:], spread(uint64(i)))
	return k
}

// meta returns the metadata of context i.
func meta(i int) codec.ContextMetaValue {
	v := codec.ContextMetaValue{
		Application: codec.ApplicationMeta{
			Size:   uint64(i) << 10,
			Source: "https://apps.example.com/chat/chat.wasm", Package: "com.example.chat", Version: "1.4.2",
			SignerID: "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
		},
		DagHeads: make([]codec.DeltaID, 2),
	}
	for at, id := range []*[32]byte{(*[32]byte)(&v.Application.ApplicationID), (*[32]byte)(&v.Application.Bytecode), (*[32]byte)(&v.DagHeads[0]), (*[32]byte)(&v.DagHeads[1])} {
		binary.BigEndian.PutUint64(id[:], spread(uint64(4*i+at+1)))
	}
	touch(&v, 0)
	return v
}

// touch makes the nth change of metadata: what a commit changes.
func touch(v *codec.ContextMetaValue, n uint64) {
	binary.LittleEndian.PutUint64(v.RootHash[:], spread(n))
}

// Where the root lies in the stored form, from its end: two heads and their number follow it.
const rootFromEnd = 32 + 4 + 2*32

// metaRows returns the keys and the stored forms of all metadata.
func metaRows() (m metaBytes, err error) {
	for i := range Metas {
		k, err := metaKey(i).AppendBinary(nil)
		if err != nil {
			return m, err
		}
		v, err := meta(i).AppendBinary(nil)
		if err != nil {
			return m, err
		}
		m.keys, m.values = append(m.keys, k), append(m.values, v)
	}
	return m, nil
}

// loadMeta writes the metadata of all contexts.
func loadMeta(w engine.Writer) error {
	b := engine.Batch{Durability: engine.WAL}
	for i := range Metas {
		engine.Put(&b, metaKey(i), meta(i))
	}
	return w.Apply(&b)
}

// any returns a row that is stored, each as likely as any other.
func (d *Dataset) any(r *rand.Rand) int { return r.IntN(d.Rows) }

// missing returns a row that is not stored.
func (d *Dataset) missing(r *rand.Rand) int { return d.Rows + r.IntN(d.Rows) }

// spread is the mixer of SplitMix64 (Steele, Lea, Flood 2014).
func spread(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
