// Package dagwire says how what package dag has is in the messages of the Dag service,
// for both ends.
package dagwire

import (
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var (
	_ = op.Tags[dag.ContextInfo]("ID", "context_id", "Root", "root_hash,hash", "Base", ",optional", "BaseHLC", "base_hlc,optional")
	_ = op.Tags[codec.ApplicationMeta]("ApplicationID", ",optional", "Bytecode", ",optional", "Compiled", ",optional", "Services", ",optional")
	_ = op.Tags[codec.ServiceMeta]("Bytecode", ",optional", "Compiled", ",optional")
	_ = op.Tags[dag.SeedProgress]("Base", ",optional")
	_ = op.Tags[dag.Finding]("Delta", "delta_id,optional")
	_ = op.Tags[dag.Report]("Context", "-", "Findings", "-", "Base", ",optional", "Root", "root_hash,optional", "Replayed", "replayed_root_hash,optional")
	_ = op.Also(setZeros, nil)
	_ = op.Also(setZerosOfService, nil)
	_ = op.Pair(fromClock, clock)
)

// setZeros sets the ids of no application too, as ever; who reads takes either.
func setZeros(m *stoav1.DagApplication, a *codec.ApplicationMeta) error {
	m.ApplicationId, m.Bytecode = op.Bytes(a.ApplicationID), op.Bytes(a.Bytecode)
	return nil
}

func setZerosOfService(m *stoav1.DagApplicationService, s *codec.ServiceMeta) error {
	m.Bytecode = op.Bytes(s.Bytecode)
	return nil
}

func fromClock(s *hlc.State) *stoav1.DagClock {
	return &stoav1.DagClock{Physical: s.Physical.UnixNano(), Expected: s.Expected.UnixNano(), Jumped: s.Jumped,
		Last: s.Last.UnixNano(), Ahead: s.Ahead}
}

func clock(field string, m *stoav1.DagClock) (hlc.State, error) {
	if m == nil {
		return hlc.State{}, &op.FieldError{Field: field, Reason: "none"}
	}
	at := func(ns int64) time.Time { return time.Unix(0, ns).UTC() }
	return hlc.State{Physical: at(m.GetPhysical()), Expected: at(m.GetExpected()), Jumped: m.GetJumped(),
		Last: at(m.GetLast()), Ahead: m.GetAhead()}, nil
}
