package dagwire

import (
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var (
	_ = op.Tags[dag.Delta]("Context", "context_id,hash", "ExpectedRoot", "expected_root_hash,hash")
	_ = op.Tags[dag.Commit]("Context", "context_id", "Private", "private_actions", "ReadRoot", ",hash", "Author", "-", "MostHeads", "-", "Beside", "-")
	_ = op.Tags[dag.Committed]("Delta", "delta_id", "Root", "root_hash,hash")
	_ = op.Tags[dag.Head]("ID", "delta_id")
	_ = op.Tags[dag.PendingDelta]("ID", "delta_id")
	_ = op.Pair(fromActions, op.Always(actions))
	_ = op.Pair(fromStamp, stamp)

	// Deltas takes deltas apart, keeping their keys and values.
	Deltas = op.NewFields[stoav1.DagDelta, dag.Delta]()
)

func fromActions(actions *[]codec.Action) []*stoav1.DagAction {
	list := make([]*stoav1.DagAction, len(*actions))
	for i := range *actions {
		a := &(*actions)[i]
		list[i] = &stoav1.DagAction{AppKey: a.Key}
		if a.Kind == codec.ActionPut {
			if list[i].Value = a.Value; a.Value == nil {
				list[i].Value = []byte{} // set, and empty
			}
		}
	}
	return list
}

func actions(list []*stoav1.DagAction) []codec.Action {
	if len(list) == 0 {
		return nil
	}
	actions := make([]codec.Action, len(list))
	for i, m := range list {
		if m.Value == nil {
			actions[i] = codec.Delete(m.GetAppKey())
		} else {
			actions[i] = codec.Put(m.GetAppKey(), m.GetValue())
		}
	}
	return actions
}

func fromStamp(t *codec.HybridTimestamp) *stoav1.DagTimestamp {
	node := binary.BigEndian.AppendUint64(make([]byte, 0, 16), t.ID.Hi)
	return &stoav1.DagTimestamp{Time: t.Time, NodeId: binary.BigEndian.AppendUint64(node, t.ID.Lo)}
}

func stamp(field string, m *stoav1.DagTimestamp) (t codec.HybridTimestamp, err error) {
	id := m.GetNodeId()
	if len(id) != 16 {
		return t, &op.FieldError{Field: field, Reason: fmt.Sprintf("node_id: %d bytes instead of 16", len(id))}
	}
	t.Time = m.GetTime()
	t.ID = codec.NodeID{Hi: binary.BigEndian.Uint64(id), Lo: binary.BigEndian.Uint64(id[8:])}
	return t, nil
}
