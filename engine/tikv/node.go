package tikv

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	tikverr "github.com/tikv/client-go/v2/error"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
)

// Node returns the id of the node that the store is of, whichever process leads it; one is drawn where the store
// has none yet. It is for who leads the store.
func (e *Engine) Node(ctx context.Context) (id codec.NodeID, err error) {
	if err := e.use(); err != nil {
		return id, err
	}
	defer e.done()
	ctx, cancel := context.WithTimeout(ctx, e.wait)
	defer cancel()
	txn, err := e.store.Begin()
	if err != nil {
		return id, e.fault(err)
	}
	key := e.own(ownNode)
	b, err := txn.Get(ctx, key)
	switch {
	case tikverr.IsErrNotFound(err):
		b = make([]byte, 16)
		if _, err := rand.Read(b); err != nil {
			return id, err
		}
		err = txn.Set(key, b)
		if err == nil {
			err = txn.Commit(ctx)
		}
	case err == nil && len(b) != 16:
		err = fmt.Errorf("%w: the id of the node has %d bytes", engine.ErrCorrupt, len(b))
	}
	if err != nil {
		return id, e.fault(err)
	}
	return codec.NodeID{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:])}, nil
}
