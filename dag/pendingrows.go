package dag

import (
	"encoding/binary"

	"github.com/stoadb/stoa/codec"
)

// The kinds of rows of scope dag-pending. The kind comes before the context, so
// that what is ready stands together whatever context it is of.
const (
	arrivalRow = 'a' // arrival u64 → delta_id 32 ‖ bytes u64 LE: what waits, the oldest first
	indexRow   = 'i' // delta_id → arrival u64 LE
	missingRow = 'm' // delta_id → nothing: a waiting delta names it, and it is not here
	readyRow   = 'r' // delta_id → nothing: it waits, but for no delta
	waiterRow  = 'w' // parent ‖ child → nothing: child waits for parent
)

// kindPrefix appends scope ‖ kind ‖ context_id.
func kindPrefix(dst []byte, scope [16]byte, kind byte, context *codec.ContextID) []byte {
	return append(append(append(dst, scope[:]...), kind), context[:]...)
}

// kindPrefixLen is the length of what kindPrefix appends.
const kindPrefixLen = 16 + 1 + 32

func arrivalKey(dst []byte, context *codec.ContextID, arrival uint64) []byte {
	return binary.BigEndian.AppendUint64(kindPrefix(dst, pendingScope, arrivalRow, context), arrival)
}

// pendingKey appends the key of kind indexRow, missingRow or readyRow.
func pendingKey(dst []byte, kind byte, context *codec.ContextID, id *codec.DeltaID) []byte {
	return append(kindPrefix(dst, pendingScope, kind, context), id[:]...)
}

// waiterPrefix appends what the keys of all that wait for parent begin with.
func waiterPrefix(dst []byte, context *codec.ContextID, parent *codec.DeltaID) []byte {
	return append(kindPrefix(dst, pendingScope, waiterRow, context), parent[:]...)
}

func waiterKey(dst []byte, context *codec.ContextID, parent, child *codec.DeltaID) []byte {
	return append(waiterPrefix(dst, context, parent), child[:]...)
}

// idAfter returns the id at the end of a key whose other bytes are n, and false if
// there is none.
func idAfter(key []byte, n int) (id codec.DeltaID, ok bool) {
	if len(key) != n+32 {
		return id, false
	}
	return codec.DeltaID(key[n:]), true
}

// parseArrival takes a row of kind arrivalRow apart.
func parseArrival(key, value []byte) (arrival uint64, id codec.DeltaID, size uint64, ok bool) {
	if len(key) != kindPrefixLen+8 || len(value) != 32+8 {
		return 0, id, 0, false
	}
	return binary.BigEndian.Uint64(key[kindPrefixLen:]), codec.DeltaID(value), binary.LittleEndian.Uint64(value[32:]), true
}

func appendArrival(dst []byte, id *codec.DeltaID, size int) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, id[:]...), uint64(size))
}

// The kinds of rows of scope dag-refused.
const (
	refusalRow      = 's' // seq u64 → a refusal, the oldest first
	refusalIndexRow = 'i' // delta_id → seq u64 LE
)

func refusalKey(dst []byte, context *codec.ContextID, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(kindPrefix(dst, refusedScope, refusalRow, context), seq)
}

func refusalIndexKey(dst []byte, context *codec.ContextID, id *codec.DeltaID) []byte {
	return append(kindPrefix(dst, refusedScope, refusalIndexRow, context), id[:]...)
}
