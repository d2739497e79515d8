package namespace

import (
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// The scopes of the Generic column that are this package's. They are never written to.
var (
	opScope       = keys.MustScope("gov-op")
	pendingScope  = keys.MustScope("gov-pending")
	reissuedScope = keys.MustScope("gov-reissued")
	homeScope     = keys.MustScope("gov-home")
	rulesScope    = keys.MustScope("gov-rules")
	followedScope = keys.MustScope("gov-followed")
	restoredScope = keys.MustScope("gov-restored")
	peerScope     = keys.MustScope("gov-peer")
)

// scoped appends scope ‖ namespace.
func scoped(dst []byte, scope keys.Scope, ns codec.GroupID) []byte {
	return append(append(dst, scope[:]...), ns[:]...)
}

// numbered returns scope ‖ namespace ‖ n u64.
func numbered(scope keys.Scope, ns codec.GroupID, n uint64) []byte {
	return binary.BigEndian.AppendUint64(scoped(nil, scope, ns), n)
}

// numberOf returns the number at the end of such a key.
func numberOf(key []byte) (uint64, error) {
	if len(key) != 16+32+8 {
		return 0, damaged(key, fmt.Sprintf("%d bytes instead of 56", len(key)))
	}
	return binary.BigEndian.Uint64(key[16+32:]), nil
}

func damaged(key []byte, fault string) error {
	return fmt.Errorf("namespace: %w: %s %x: %s", engine.ErrCorrupt, column.Generic, key, fault)
}

// fact is what a row of gov-op says of an op:
//
//	op_id 32 ‖ number in its group's log u64 LE ‖ fault u8 ‖ of each key that it hands out, if any: u8
type fact struct {
	id    codec.OpID
	seq   uint64       // 0: it cannot be read
	fault group.Reason // why it never will be; 0: it may
	keys  []keyState
}

func (f *fact) appendBinary(dst []byte) []byte {
	dst = append(binary.LittleEndian.AppendUint64(append(dst, f.id[:]...), f.seq), byte(f.fault))
	for _, k := range f.keys {
		dst = append(dst, byte(k))
	}
	return dst
}

func parseFact(key, value []byte) (f fact, err error) {
	if len(value) < 32+8+1 {
		return f, damaged(key, fmt.Sprintf("%d bytes instead of at least 41", len(value)))
	}
	f = fact{id: codec.OpID(value), seq: binary.LittleEndian.Uint64(value[32:]), fault: group.Reason(value[40])}
	for _, k := range value[41:] {
		if k > byte(keyBad) {
			return f, damaged(key, fmt.Sprintf("the state %d of a key", k))
		}
		f.keys = append(f.keys, keyState(k))
	}
	return f, nil
}

// each calls fn with all rows of Generic that begin with prefix.
func each(r engine.Reader, prefix []byte, fn func(key, value []byte) error) error {
	return engine.Each(r, column.Generic, engine.Prefixed(prefix), fn)
}

// storedForm returns the row of prefix 0x38 for op: whole, or what is left of it.
func storedForm(op *Op, whole bool) (codec.NamespaceGovOpValue, error) {
	if whole {
		return codec.NamespaceGovOpValue{SkeletonBytes: append([]byte{byte(codec.StoredSigned)}, op.wire()...)}, nil
	}
	b, err := op.Skeleton().AppendBinary(nil)
	return codec.NamespaceGovOpValue{SkeletonBytes: b}, err
}

// readOp returns the op of the namespace with that id as it is stored.
func readOp(r engine.Getter, ns codec.GroupID, id codec.OpID) (*Op, error) {
	v, err := engine.Get(r, keys.NamespaceGovOp{Namespace: ns, Delta: id})
	if err != nil {
		return nil, err
	}
	return ParseOp(v.SkeletonBytes)
}
