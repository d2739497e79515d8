package dagwire

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromSeeded returns what became of a snapshot as it goes over the wire.
func FromSeeded(s *dag.Seeded) *stoav1.DagSeedResponse {
	m := &stoav1.DagSeedResponse{
		Adopted: s.Adopted, Base: op.OptionalBytes(s.Base), Rows: s.Rows, Deltas: s.Deltas, Restored: s.Restored, Dropped: op.FromIDs(s.Dropped),
	}
	for i := range s.Refused {
		m.Refused = append(m.Refused, FromRefusal(&s.Refused[i]))
	}
	return m
}

// Seeded returns what came over the wire of a snapshot.
func Seeded(m *stoav1.DagSeedResponse) (s dag.Seeded, err error) {
	s = dag.Seeded{Adopted: m.GetAdopted(), Rows: m.GetRows(), Deltas: m.GetDeltas(), Restored: m.GetRestored()}
	if s.Base, err = op.ParseOptional[codec.DeltaID]("base", m.GetBase()); err != nil {
		return s, err
	}
	if s.Refused, err = Refusals(m.GetRefused()); err != nil {
		return s, err
	}
	s.Dropped, err = op.ParseIDs[codec.DeltaID]("dropped", m.GetDropped())
	return s, err
}
