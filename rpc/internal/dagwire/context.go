// Package dagwire turns what package dag has into the messages of the Dag
// service and back, for both ends.
package dagwire

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// FromContext returns what is known of a context as it goes over the wire.
func FromContext(c *dag.ContextInfo) *stoav1.DagContextInfo {
	m := &stoav1.DagContextInfo{
		ContextId: op.Bytes(c.ID), RootHash: op.Bytes(c.Root), Heads: op.FromIDs(c.Heads), Applied: c.Applied,
		Pending: uint64(c.Pending), PendingBytes: uint64(c.PendingBytes), Refused: uint64(c.Refused),
		Reseed: c.Reseed, Adopting: c.Adopting, Application: FromApplication(&c.Application),
	}
	if !c.Base.IsZero() {
		m.Base, m.BaseHlc = op.Bytes(c.Base), FromStamp(c.BaseHLC)
	}
	return m
}

// Context returns what came over the wire of a context.
func Context(m *stoav1.DagContextInfo) (c dag.ContextInfo, err error) {
	c = dag.ContextInfo{
		Applied: m.GetApplied(), Pending: int(m.GetPending()), PendingBytes: int64(m.GetPendingBytes()),
		Refused: int(m.GetRefused()), Reseed: m.GetReseed(), Adopting: m.GetAdopting(),
	}
	if c.ID, err = op.ParseID[codec.ContextID]("context_id", m.GetContextId()); err != nil {
		return c, err
	}
	if c.Root, err = op.ParseHash[codec.Hash]("root_hash", m.GetRootHash()); err != nil {
		return c, err
	}
	if c.Heads, err = op.ParseIDs[codec.DeltaID]("heads", m.GetHeads()); err != nil {
		return c, err
	}
	if c.Base, err = op.ParseOptional[codec.DeltaID]("base", m.GetBase()); err != nil {
		return c, err
	}
	if m.GetBaseHlc() != nil {
		if c.BaseHLC, err = Stamp("base_hlc", m.GetBaseHlc()); err != nil {
			return c, err
		}
	}
	c.Application, err = Application("application", m.GetApplication())
	return c, err
}
