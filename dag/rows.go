package dag

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// The scopes of the rows, in column Generic. They are never written to.
var (
	orderScope   = keys.MustScope("dag-order")
	seqScope     = keys.MustScope("dag-seq")
	goneScope    = keys.MustScope("dag-gone")
	lateScope    = keys.MustScope("dag-late")
	pendingScope = keys.MustScope("dag-pending")
	refusedScope = keys.MustScope("dag-refused")
	contextScope = keys.MustScope("dag-context")
	cursorScope  = keys.MustScope("dag-cursor")
	headScope    = keys.MustScope("dag-head")
	seededScope  = keys.MustScope("dag-seeded")
	stagingScope = keys.MustScope("dag-staging")
)

// contextPrefix appends scope ‖ context_id, which the keys of most scopes begin with.
func contextPrefix(dst []byte, scope [16]byte, context *codec.ContextID) []byte {
	return append(append(dst, scope[:]...), context[:]...)
}

// contextPrefixLen is the length of what contextPrefix appends.
const contextPrefixLen = 16 + 32

// orderKey appends the key of the delta that was applied as number seq.
func orderKey(dst []byte, context *codec.ContextID, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(contextPrefix(dst, orderScope, context), seq)
}

// orderSeq returns the number in a key of the order.
func orderSeq(key []byte) (seq uint64, ok bool) {
	if len(key) != contextPrefixLen+8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[contextPrefixLen:]), true
}

// orderRow is an applied delta in the order of application.
type orderRow struct {
	id      codec.DeltaID
	hlc     codec.HybridTimestamp
	parents []uint64 // where its parents are; none of a first delta and of a base
	before  []uint64 // of each key that it writes, by hash, the number of the version before its own; 0: none, or its own was late
	older   bool     // a build wrote it that kept versions elsewhere: it has no before
}

// gone reports whether the number has no delta: the one that had it was withdrawn, or was by then.
func (r *orderRow) gone() bool { return r.hlc == codec.HybridTimestamp{} }

// Withdrawn reports whether a value of dag-order is of a number without a delta.
func Withdrawn(value []byte) bool {
	r, ok := parseOrder(value)
	return ok && r.gone()
}

// appendBinary appends
//
//	delta_id 32 ‖ hlc 24 ‖ parents u32 LE ‖ place of each, in their order, u64 LE
//	‖ of each key that it writes, by SHA-256(app_key), the place of the version before u64 LE
//	of a number without a delta: the id of the one that was withdrawn ‖ 0 24
func (r *orderRow) appendBinary(dst []byte) []byte {
	if dst = appendStamp(append(dst, r.id[:]...), r.hlc); r.gone() {
		return dst
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.parents)))
	for _, seq := range r.parents {
		dst = binary.LittleEndian.AppendUint64(dst, seq)
	}
	for _, seq := range r.before {
		dst = binary.LittleEndian.AppendUint64(dst, seq)
	}
	return dst
}

// parseOrder returns the row whose bytes are b, and false if they are none.
func parseOrder(b []byte) (r orderRow, ok bool) {
	const fixed = 32 + 24
	if len(b) < fixed {
		return r, false
	}
	r.id, r.hlc = codec.DeltaID(b), cutStamp(b[32:])
	if b = b[fixed:]; r.gone() {
		return r, len(b) == 0
	}
	n := len(b) / 8
	parents := n
	switch r.older = len(b)%8 == 0; {
	case r.older:
	case len(b)%8 != 4:
		return r, false
	default:
		parents = int(binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	if parents > min(n, MaxParents) || n-parents > MaxActions {
		return r, false
	}
	if n > 0 {
		all := make([]uint64, n)
		for i := range all {
			all[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		r.parents, r.before = all[:parents:parents], all[parents:]
	}
	return r, true
}

// seqKey appends the key of the number of an applied delta.
func seqKey(dst []byte, context *codec.ContextID, id *codec.DeltaID) []byte {
	return append(contextPrefix(dst, seqScope, context), id[:]...)
}

// parseU64 returns a little-endian number, and false if b is none.
func parseU64(b []byte) (n uint64, ok bool) {
	if len(b) != 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// stamp is what decides between two writes to a key: the greater wins.
type stamp struct {
	hlc codec.HybridTimestamp
	id  codec.DeltaID
}

// after reports whether s wins over o.
func (s *stamp) after(o *stamp) bool {
	if c := s.hlc.Compare(o.hlc); c != 0 {
		return c > 0
	}
	return string(s.id[:]) > string(o.id[:])
}

// goneKey appends the key of the row that says which is the newest version of a key that is deleted: the number of the
// delta u64 LE. That of a key that is there the trie keeps, as its mark.
func goneKey(dst []byte, context *codec.ContextID, key *codec.Hash) []byte {
	return append(contextPrefix(dst, goneScope, context), key[:]...)
}

// lateKey appends the key of the row of a late version, whose value is its number u64 LE. All bits of the stamp are
// turned over, so that the newest comes first.
func lateKey(dst []byte, context *codec.ContextID, key *codec.Hash, s *stamp) []byte {
	dst = append(contextPrefix(dst, lateScope, context), key[:]...)
	dst = binary.BigEndian.AppendUint64(dst, ^s.hlc.Time)
	dst = binary.BigEndian.AppendUint64(dst, ^s.hlc.ID.Hi)
	dst = binary.BigEndian.AppendUint64(dst, ^s.hlc.ID.Lo)
	for _, b := range s.id {
		dst = append(dst, ^b)
	}
	return dst
}

// parseLate returns the key and the delta of such a row, and false if it is none.
func parseLate(key []byte) (of codec.Hash, by stamp, ok bool) {
	const fixed = contextPrefixLen + 32
	if len(key) != fixed+8+16+32 {
		return of, by, false
	}
	k := key[fixed:]
	by.hlc = codec.HybridTimestamp{Time: ^binary.BigEndian.Uint64(k),
		ID: codec.NodeID{Hi: ^binary.BigEndian.Uint64(k[8:]), Lo: ^binary.BigEndian.Uint64(k[16:])}}
	for i, b := range k[24:] {
		by.id[i] = ^b
	}
	return codec.Hash(key[contextPrefixLen:]), by, true
}

// cursorKey appends the key of a follower's cursor.
func cursorKey(dst []byte, context *codec.ContextID, name string) []byte {
	return append(contextPrefix(dst, cursorScope, context), name...)
}

// hashedKey appends the key of a row of scope seededScope or stagingScope.
func hashedKey(dst []byte, scope [16]byte, context *codec.ContextID, key *codec.Hash) []byte {
	return append(contextPrefix(dst, scope, context), key[:]...)
}

// appendStateRow appends the value of such a row:
//
//	length of app_key u32 LE ‖ app_key ‖ value
func appendStateRow(dst, appKey, value []byte) []byte {
	return append(appendBytes(dst, appKey), value...)
}

// parseStateRow takes such a value apart; both are parts of b.
func parseStateRow(b []byte) (appKey, value []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n > int64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}

// stateKey appends the key of an app_key in column State or PrivateState.
func stateKey(dst []byte, context *codec.ContextID, appKey []byte) []byte {
	return append(append(dst, context[:]...), appKey...)
}

// deltaKey appends the key of a delta in column Delta.
func deltaKey(dst []byte, context *codec.ContextID, id *codec.DeltaID) []byte {
	return append(append(dst, context[:]...), id[:]...)
}

// rowDamage is the error of a row that does not parse, or that is not there though
// others say so. It is engine.ErrCorrupt.
type rowDamage struct {
	col   column.Column
	key   []byte
	fault string
}

func damagedRow(col column.Column, key []byte, fault string) error {
	return &rowDamage{col, bytes.Clone(key), fault}
}

// Error names the row and the fault.
func (d *rowDamage) Error() string {
	return fmt.Sprintf("dag: %v: %s %x: %s", engine.ErrCorrupt, d.col, d.key, d.fault)
}

// Is reports whether target is engine.ErrCorrupt.
func (d *rowDamage) Is(target error) bool { return target == engine.ErrCorrupt }

// seedPhase is how far the adoption of a snapshot has come. The zero seedPhase is
// none.
type seedPhase uint8

const (
	notSeeding seedPhase = iota
	staging              // rows of a snapshot are being received
	adopting             // they are verified and take the place of the context's own: to be rolled forward
)

// contextRow is what is stored of a context beside Meta; a plain context has no
// such row.
type contextRow struct {
	base      stamp // of a seeded context; the zero id: none
	reseed    bool
	phase     seedPhase
	withdrawn uint64 // numbers of the order without a delta
}

// seeded reports whether the context has begun with a snapshot.
func (r *contextRow) seeded() bool { return !r.base.id.IsZero() }

// contextRowKey appends the key of the row.
func contextRowKey(dst []byte, context *codec.ContextID) []byte {
	return contextPrefix(dst, contextScope, context)
}

// appendBinary appends
//
//	base delta_id 32 ‖ base hlc 24 ‖ flags u8, bit 0 reseed ‖ phase u8
//	if deltas were withdrawn: how many numbers have none u64
func (r *contextRow) appendBinary(dst []byte) []byte {
	dst = appendStamp(append(dst, r.base.id[:]...), r.base.hlc)
	flags := byte(0)
	if r.reseed {
		flags = 1
	}
	dst = append(dst, flags, byte(r.phase))
	if r.withdrawn > 0 {
		dst = binary.LittleEndian.AppendUint64(dst, r.withdrawn)
	}
	return dst
}

// parseContextRow returns the row whose bytes are b, and false if they are none.
func parseContextRow(b []byte) (r contextRow, ok bool) {
	const fixed = 32 + 24 + 2
	if len(b) != fixed && len(b) != fixed+8 || b[56] > 1 || b[57] > byte(adopting) {
		return r, false
	}
	if len(b) > fixed {
		r.withdrawn = binary.LittleEndian.Uint64(b[fixed:])
	}
	r.base = stamp{hlc: cutStamp(b[32:]), id: codec.DeltaID(b)}
	r.reseed, r.phase = b[56] == 1, seedPhase(b[57])
	return r, true
}
