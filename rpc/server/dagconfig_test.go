package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// The counters of a context that a group has follow from ops alone: nobody raises them
// besides, and they stay when what the node has of the context goes.
func TestCountersOfAGovernedContextAreItsNamespaces(t *testing.T) {
	eng := mem.New()
	contexts, err := dag.Open(eng, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	governance, err := namespace.Open(eng, namespace.Options{})
	require.NoError(t, err)
	d := start(t, eng, Options{Dag: contexts, Namespaces: governance})
	t.Cleanup(func() { // before the engine is closed
		d.stop()
		require.NoError(t, contexts.Close())
		require.NoError(t, governance.Close())
	})
	c := d.dial(t)
	require.NoError(t, c.Dag().CreateContext(t.Context(), room, codec.ApplicationMeta{}))
	bump := func() error { _, err := c.Dag().BumpConfig(t.Context(), room, true, true); return err }
	counters := func() codec.ContextConfigValue {
		v, err := c.Dag().Config(t.Context(), room)
		require.NoError(t, err)
		return v
	}
	for range 5 {
		require.NoError(t, bump())
	}
	ns, _, err := c.Namespaces().Create(t.Context(), namespace.Create{})
	require.NoError(t, err)
	propose := func(op codec.GroupOp) {
		_, _, err := c.Namespaces().Propose(t.Context(), ns, namespace.Proposal{GroupID: ns, Group: &op})
		require.NoError(t, err)
	}
	propose(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
	propose(codec.GroupOp{Kind: codec.OpContextMigrated, ContextID: room, Method: "up"})
	require.Equal(t, codec.ContextConfigValue{ApplicationRevision: 1}, counters())

	err = bump()
	require.ErrorIs(t, err, rpc.ErrOwned)
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	var e *rpc.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, stoav1.Namespace_ServiceDesc.ServiceName, e.Fields[fault.FieldOwner])
	require.Equal(t, ns.String(), e.Fields[fault.FieldGroup])
	require.Equal(t, codec.ContextConfigValue{ApplicationRevision: 1}, counters())

	require.NoError(t, c.Dag().DeleteContext(t.Context(), room))
	report, err := c.Namespaces().Verify(t.Context(), ns)
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	require.NoError(t, c.Dag().CreateContext(t.Context(), room, codec.ApplicationMeta{}))
	require.Equal(t, codec.ContextConfigValue{ApplicationRevision: 1}, counters())
	propose(codec.GroupOp{Kind: codec.OpContextDetached, ContextID: room})
	require.Zero(t, counters())
	require.NoError(t, bump())
	require.NoError(t, c.Dag().DeleteContext(t.Context(), room))
}
