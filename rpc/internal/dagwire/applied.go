package dagwire

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var (
	_ = op.Tags[dag.Position]("Delta", "delta_id") // of a delta that is there
	_ = op.Pair(fromPosition, position)            // to go on from
)

// fromPosition returns a place as it goes over the wire; nil for the zero one.
func fromPosition(p *dag.Position) *stoav1.DagPosition {
	if *p == (dag.Position{}) {
		return nil
	}
	return &stoav1.DagPosition{Seq: p.Seq, DeltaId: op.OptionalBytes(p.Delta)}
}

func position(field string, m *stoav1.DagPosition) (p dag.Position, err error) {
	p.Seq = m.GetSeq()
	p.Delta, err = op.ParseOptional[codec.DeltaID](field+".delta_id", m.GetDeltaId())
	return p, err
}

// FromApplied returns an applied delta as it goes over the wire.
func FromApplied(a *dag.AppliedDelta, decode bool) (m *stoav1.DagEntry, err error) {
	m = &stoav1.DagEntry{DeltaId: op.Bytes(a.Position.Delta), Seq: a.Seq, Base: a.Base, Withdrawn: a.Withdrawn}
	if a.Withdrawn {
		return m, nil
	}
	if decode {
		if m.Decoded, err = Deltas.Message(a.Delta); err != nil {
			return nil, err
		}
	}
	m.Delta, err = a.Delta.AppendBinary(nil)
	return m, err
}

// EntryBytes is about how many bytes an applied delta takes.
func EntryBytes(m *stoav1.DagEntry) int {
	if m.Decoded != nil {
		return 2 * (len(m.GetDelta()) + 64)
	}
	return len(m.GetDelta()) + 64
}

// Applied returns the applied delta that came over the wire.
func Applied(m *stoav1.DagEntry) (a dag.AppliedDelta, err error) {
	a.Seq, a.Base, a.Withdrawn = m.GetSeq(), m.GetBase(), m.GetWithdrawn()
	if a.Position.Delta, err = op.ParseID[codec.DeltaID]("delta_id", m.GetDeltaId()); err != nil {
		return a, err
	}
	if !a.Withdrawn {
		a.Delta, err = dag.ParseDelta(m.GetDelta())
	}
	return a, err
}
