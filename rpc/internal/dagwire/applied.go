package dagwire

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromPosition returns a place as it goes over the wire; nil for the zero one.
func FromPosition(p dag.Position) *stoav1.DagPosition {
	if p == (dag.Position{}) {
		return nil
	}
	return &stoav1.DagPosition{Seq: p.Seq, DeltaId: op.OptionalBytes(p.Delta)}
}

// Position returns the place in a field; the zero one if it is not set.
func Position(field string, m *stoav1.DagPosition) (p dag.Position, err error) {
	p.Seq = m.GetSeq()
	p.Delta, err = op.ParseOptional[codec.DeltaID](field+".delta_id", m.GetDeltaId())
	return p, err
}

// FromApplied returns an applied delta as it goes over the wire, and how many
// bytes that takes, about.
func FromApplied(a *dag.AppliedDelta, decode bool) (m *stoav1.DagEntry, bytes int, err error) {
	m = &stoav1.DagEntry{DeltaId: op.Bytes(a.Position.Delta), Seq: a.Seq, Base: a.Base}
	if m.Delta, err = a.Delta.AppendBinary(nil); err != nil {
		return nil, 0, err
	}
	bytes = len(m.Delta) + 64
	if decode {
		m.Decoded = FromDelta(a.Delta)
		bytes *= 2
	}
	return m, bytes, nil
}

// Applied returns the applied delta that came over the wire.
func Applied(m *stoav1.DagEntry) (a dag.AppliedDelta, err error) {
	a.Seq, a.Base = m.GetSeq(), m.GetBase()
	if a.Position.Delta, err = op.ParseID[codec.DeltaID]("delta_id", m.GetDeltaId()); err != nil {
		return a, err
	}
	a.Delta, err = dag.ParseDelta(m.GetDelta())
	return a, err
}

// FromAppliedHeader returns what an applied delta is without what it does.
func FromAppliedHeader(a *dag.AppliedDelta) (*stoav1.DagHeader, error) {
	b, err := a.Delta.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	return &stoav1.DagHeader{
		DeltaId: op.Bytes(a.Position.Delta), Seq: a.Seq, Parents: op.FromIDs(a.Parents), Hlc: FromStamp(a.HLC), ExpectedRootHash: op.Bytes(a.ExpectedRoot),
		Actions: uint32(len(a.Actions)), Events: uint32(len(a.Events)), Size: uint32(len(b)), Base: a.Base,
	}, nil
}
