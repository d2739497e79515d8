// Package dagwire turns what package dag has into the messages of the Dag
// service and back, for both ends.
package dagwire

import (
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FieldError says which field of a message makes no sense.
type FieldError = op.FieldError

// Hash returns the 32 bytes in a field, zeros too.
func Hash[T ~[32]byte](field string, b []byte) (id T, err error) {
	if len(b) != len(id) {
		return id, &FieldError{field, fmt.Sprintf("%d bytes instead of 32", len(b))}
	}
	return T(b), nil
}

// ID returns the id in a field. Zeros are none.
func ID[T ~[32]byte](field string, b []byte) (T, error) {
	id, err := Hash[T](field, b)
	if err == nil && id == (T{}) {
		err = &FieldError{field, "all zeros, which is no id"}
	}
	return id, err
}

// Optional is Hash, but an empty field is zeros.
func Optional[T ~[32]byte](field string, b []byte) (id T, err error) {
	if len(b) == 0 {
		return id, nil
	}
	return Hash[T](field, b)
}

// IDs returns the ids in a repeated field.
func IDs[T ~[32]byte](field string, list [][]byte) ([]T, error) {
	if len(list) == 0 {
		return nil, nil
	}
	ids := make([]T, len(list))
	for i := range list {
		var err error
		if ids[i], err = Hash[T](field, list[i]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Bytes returns an id as it goes over the wire.
func Bytes[T ~[32]byte](id T) []byte { return append(make([]byte, 0, len(id)), id[:]...) }

// OptionalBytes is Bytes, but zeros are an empty field.
func OptionalBytes[T ~[32]byte](id T) []byte {
	if id == (T{}) {
		return nil
	}
	return Bytes(id)
}

// List returns ids as they go over the wire.
func List[T ~[32]byte](ids []T) [][]byte {
	if len(ids) == 0 {
		return nil
	}
	memory := make([]byte, 0, 32*len(ids))
	list := make([][]byte, len(ids))
	for i := range ids {
		memory = append(memory, ids[i][:]...)
		list[i] = memory[32*i : 32*i+32 : 32*i+32]
	}
	return list
}

// FromStamp returns a stamp as it goes over the wire.
func FromStamp(t codec.HybridTimestamp) *stoav1.DagTimestamp {
	node := binary.BigEndian.AppendUint64(make([]byte, 0, 16), t.ID.Hi)
	return &stoav1.DagTimestamp{Time: t.Time, NodeId: binary.BigEndian.AppendUint64(node, t.ID.Lo)}
}

// Stamp returns the stamp that came over the wire.
func Stamp(field string, m *stoav1.DagTimestamp) (t codec.HybridTimestamp, err error) {
	id := m.GetNodeId()
	if len(id) != 16 {
		return t, &FieldError{field, fmt.Sprintf("node_id: %d bytes instead of 16", len(id))}
	}
	t.Time = m.GetTime()
	t.ID = codec.NodeID{Hi: binary.BigEndian.Uint64(id), Lo: binary.BigEndian.Uint64(id[8:])}
	return t, nil
}
