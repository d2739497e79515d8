package dag

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// The rows of a snapshot that is being received. They are no part of the context
// until it is adopted.
var (
	seedingScope = keys.MustScope("dag-seeding")
	asideScope   = keys.MustScope("dag-aside")
)

// domainShadow begins what the id of a shadow is the hash of.
const domainShadow = "stoa.seed.v1"

// shadow returns the id under which the trie of a snapshot's state is kept until
// it is adopted. No context has it.
func shadow(id *codec.ContextID) codec.ContextID {
	return sha256.Sum256(append([]byte(domainShadow), id[:]...))
}

// seedingRow is how far a snapshot has been received.
type seedingRow struct {
	rows   uint64     // staged
	root   codec.Hash // of these
	base   []byte     // as a delta travels; empty: none
	resume []byte     // what the sender goes on with
}

// appendBinary appends
//
//	rows u64 LE ‖ root 32 ‖ base, resume: length u32 LE, bytes
func (r *seedingRow) appendBinary(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, r.rows)
	dst = append(dst, r.root[:]...)
	return appendBytes(appendBytes(dst, r.base), r.resume)
}

// readSeeding returns how far a snapshot has been received, nil if none is being
// received.
func readSeeding(g engine.Getter, id *codec.ContextID) (*seedingRow, error) {
	key := contextPrefix(nil, seedingScope, id)
	b, err := g.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := cutter.New("dag-seeding", b)
	r := &seedingRow{rows: c.U64("rows"), root: c.Hash("root"), base: c.Bytes("base"), resume: c.Bytes("resume")}
	if err := c.End(); err != nil {
		return nil, damagedRow(column.Generic, key, err.Error())
	}
	return r, nil
}

func (r *seedingRow) put(b *engine.Batch, id *codec.ContextID) {
	b.Put(column.Generic, contextPrefix(nil, seedingScope, id), r.appendBinary(nil))
}

// deleteSeeding puts into b the removal of all that has been received of a
// snapshot.
func deleteSeeding(b *engine.Batch, id *codec.ContextID) {
	b.Delete(column.Generic, contextPrefix(nil, seedingScope, id))
	deleteRange(b, column.Generic, contextPrefix(nil, stagingScope, id))
	merkle.Delete(b, shadow(id))
}

// asideKey appends the key of a delta of the context from before it was seeded,
// which is to be offered to it again, parents first:
//
//	context_id 32 ‖ time u64 BE ‖ delta_id 32  →  the delta as it travels
func asideKey(dst []byte, context *codec.ContextID, time uint64, id *codec.DeltaID) []byte {
	dst = binary.BigEndian.AppendUint64(contextPrefix(dst, asideScope, context), time)
	return append(dst, id[:]...)
}
