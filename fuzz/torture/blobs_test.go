package torture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
)

// blobs uploads through the Blob service.
type blobs struct {
	rand    *rand.Rand
	have    map[codec.BlobID]uint64 // the seed of the content of each
	read    map[codec.BlobID]bool   // after a kill; others are looked up only
	under   codec.BlobID
	content uint64 // of what is under way
	large   bool   // most are of several MiB
}

func newBlobs(r *rand.Rand, _ byte) worker {
	return &blobs{rand: r, have: map[codec.BlobID]uint64{}, read: map[codec.BlobID]bool{}}
}

func newLargeBlobs(r *rand.Rand, id byte) worker {
	w := newBlobs(r, id).(*blobs)
	w.large = true
	return w
}

// contentOf returns bytes that follow from a seed: none, a few, or many chunks of
// them.
func (w *blobs) contentOf(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	size := []int{r.IntN(100), r.IntN(10_000), r.IntN(400_000)}[r.IntN(3)] + 1
	if w.large {
		size = r.IntN(6<<20) + 1
	}
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte(binary.BigEndian.AppendUint64(make([]byte, 24), seed))).Read(b) // never fails
	return b
}

func (w *blobs) use(c *rpc.Client) error {
	w.content = w.rand.Uint64()
	b := w.contentOf(w.content)
	w.under = sha256.Sum256(b)
	o := rpc.BlobPutOptions{}
	if w.rand.IntN(2) == 0 {
		o = rpc.BlobPutOptions{ID: w.under, Size: uint64(len(b))}
	}
	stored, _, err := c.BlobPut(context.Background(), bytes.NewReader(b), o)
	if err != nil {
		return err
	}
	if stored.ID != w.under {
		return wrongf("blob %s was stored as %s", w.under, stored.ID)
	}
	w.have[w.under] = w.content
	w.under = codec.BlobID{}
	return nil
}

func (w *blobs) recount(c *rpc.Client) error {
	if !w.under.IsZero() {
		_, err := c.BlobStat(context.Background(), w.under)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		if err == nil { // then it is whole
			w.have[w.under] = w.content
		}
		w.under = codec.BlobID{}
	}
	for id, seed := range w.have {
		var got bytes.Buffer
		var err error
		if w.read[id] {
			_, err = c.BlobStat(context.Background(), id)
		} else {
			_, err = c.BlobGet(context.Background(), id, &got, rpc.BlobGetOptions{})
		}
		switch {
		case errors.Is(err, engine.ErrNotFound):
			return wrongf("blob %s is not there", id)
		case err != nil:
			return err
		case !w.read[id] && !bytes.Equal(got.Bytes(), w.contentOf(seed)):
			return wrongf("blob %s has other bytes", id)
		}
		w.read[id] = true
	}
	return nil
}
