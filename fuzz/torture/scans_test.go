package torture

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
)

// scans writes rows through the Store service until there are 16 MiB of them, and then
// reads them all, again and again.
type scans struct {
	id    byte
	rand  *rand.Rand
	acked int // batches
	asked int
}

func newScans(r *rand.Rand, id byte) worker { return &scans{id: id, rand: r} }

const (
	scannedBatches = 64
	scannedRows    = 16       // of a batch
	scannedBytes   = 16 << 10 // of a row
)

func (w *scans) prefix() []byte {
	return append([]byte("stoa.test\x00\x00\x00\x00\x00\x00\x00"), 's', w.id)
}

func (w *scans) use(c *rpc.Client) error {
	if w.acked == scannedBatches {
		return w.recount(c)
	}
	b := engine.Batch{Durability: engine.WAL}
	for i := range scannedRows {
		row := make([]byte, scannedBytes)
		for at := 0; at < len(row); at += 8 {
			binary.BigEndian.PutUint64(row[at:], w.rand.Uint64())
		}
		b.Put(column.Generic, append(w.prefix(), byte(w.acked), byte(i)), row)
	}
	w.asked = w.acked + 1
	if err := c.Store(context.Background()).Apply(&b); err != nil {
		return err
	}
	w.acked = w.asked
	return nil
}

func (w *scans) recount(c *rpc.Client) error {
	it, err := c.Store(context.Background()).Iterate(column.Generic, engine.Prefixed(w.prefix()))
	if err != nil {
		return err
	}
	defer it.Close()
	n := 0
	for it.Next() {
		if len(it.Value()) != scannedBytes {
			return wrongf("row %x has %d bytes", it.Key(), len(it.Value()))
		}
		n++
	}
	if err := it.Err(); err != nil {
		return err
	}
	if n != w.acked*scannedRows && n != w.asked*scannedRows {
		return wrongf("a scan has found %d rows of %d", n, w.acked*scannedRows)
	}
	w.acked = n / scannedRows
	w.asked = w.acked
	return nil
}
