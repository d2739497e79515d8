package dagwire

import (
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromStamp returns a stamp as it goes over the wire.
func FromStamp(t codec.HybridTimestamp) *stoav1.DagTimestamp {
	node := binary.BigEndian.AppendUint64(make([]byte, 0, 16), t.ID.Hi)
	return &stoav1.DagTimestamp{Time: t.Time, NodeId: binary.BigEndian.AppendUint64(node, t.ID.Lo)}
}

// Stamp returns the stamp that came over the wire.
func Stamp(field string, m *stoav1.DagTimestamp) (t codec.HybridTimestamp, err error) {
	id := m.GetNodeId()
	if len(id) != 16 {
		return t, &op.FieldError{Field: field, Reason: fmt.Sprintf("node_id: %d bytes instead of 16", len(id))}
	}
	t.Time = m.GetTime()
	t.ID = codec.NodeID{Hi: binary.BigEndian.Uint64(id), Lo: binary.BigEndian.Uint64(id[8:])}
	return t, nil
}
