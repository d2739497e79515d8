package cli

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// A namespace that is damaged is told of, and the others are listed.
func TestDamagedNamespacesAreToldOfOffline(t *testing.T) {
	store := mem.New()
	t.Cleanup(func() { _ = store.Close() })
	made, err := namespace.Open(store, namespace.Options{})
	require.NoError(t, err)
	var ids []codec.GroupID
	for range 3 {
		id, _, err := made.Create(t.Context(), namespace.Create{})
		require.NoError(t, err)
		ids = append(ids, id)
	}
	require.NoError(t, made.Close())
	slices.SortFunc(ids, func(a, b codec.GroupID) int { return bytes.Compare(a[:], b[:]) })
	head, _ := keys.ByName("NamespaceGovHead")
	op, _ := keys.ByName("NamespaceGovOp")
	it, err := store.Iterate(column.Group, engine.Prefixed(append([]byte{op.Tag}, ids[1][:]...)))
	require.NoError(t, err)
	require.True(t, it.Next())
	var b engine.Batch
	b.Put(column.Group, it.Key(), []byte{0xFF})
	require.NoError(t, it.Close())
	b.Put(column.Group, []byte{head.Tag, 0xFF}, []byte("no key"))
	require.NoError(t, store.Apply(&b))

	o, client, told := readingOffline(t, store)
	var list []namespace.Info
	for info, err := range client.Namespaces().List(t.Context()) {
		require.NoError(t, err)
		list = append(list, info)
	}
	require.Len(t, list, 3)
	require.Equal(t, ids, []codec.GroupID{list[0].ID, list[1].ID, list[2].ID})
	require.Equal(t, []int{1, 0, 1}, []int{list[0].Ops, list[1].Ops, list[2].Ops})
	require.Contains(t, told(), "value  Group ")
	require.Contains(t, told(), "key  Group ")
	require.Equal(t, 2, o.lost)
}

// readingOffline returns a client of a store that is read as a directory is, and what
// it was told of damage.
func readingOffline(t *testing.T, store engine.Engine) (*offlineStore, *rpc.Client, func() string) {
	var errs strings.Builder
	o := &offlineStore{p: &Process{Stderr: &errs, Stdout: &errs}}
	client, err := o.serveSource(inspect.From(store, inspect.Facts{}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.end()) })
	return o, client, func() string {
		o.mu.Lock()
		defer o.mu.Unlock()
		return errs.String()
	}
}

// Contexts are read without the clock, which only stamps need, and that is said.
func TestContextsAreReadOfflineWithoutAClock(t *testing.T) {
	store := mem.New()
	t.Cleanup(func() { _ = store.Close() })
	made, err := dag.Open(store, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	id := codec.ContextID{1}
	require.NoError(t, made.CreateContext(id, codec.ApplicationMeta{}))
	require.NoError(t, made.Close())
	var b engine.Batch
	b.Put(column.Generic, hlc.RowKey(), []byte("short"))
	require.NoError(t, store.Apply(&b))

	o, client, told := readingOffline(t, store)
	require.Equal(t, 1, o.lost)
	require.Contains(t, told(), "value  Generic "+hex.EncodeToString(hlc.RowKey())+"  ")
	require.Contains(t, told(), "5 bytes instead of 8\n")
	_, err = client.Dag().Context(t.Context(), id)
	require.NoError(t, err)
}
