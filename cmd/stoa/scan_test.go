package main

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
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

// scanned returns the keys that a scan with these flags lists, in hex.
func scanned(t *testing.T, store engine.Reader, typ string, args ...string) (found []string) {
	var f scanFlags
	fs := pflag.NewFlagSet("scan", pflag.ContinueOnError)
	f.register(fs)
	require.NoError(t, fs.Parse(args))
	target := target{column: column.Blobs}
	if typ != "" {
		target.info, _ = keys.ByName(typ)
	}
	s, err := f.scan(target)
	require.NoError(t, err)
	require.NoError(t, s.each(store, func(r row) error {
		found = append(found, hex.EncodeToString(r.key))
		return nil
	}))
	return found
}

func TestAScanOfBlobsSkipsTheChunksInBothDirections(t *testing.T) {
	store := mem.New()
	t.Cleanup(func() { _ = store.Close() })
	var ids []string
	var b engine.Batch
	for id := range byte(4) {
		key := bytes.Repeat([]byte{id * 85}, 32) // 0, 0x55, 0xAA, 0xFF
		ids = append(ids, hex.EncodeToString(key))
		b.Put(column.Blobs, key, make([]byte, 44))
		for chunk := range id * 40 {
			b.Put(column.Blobs, append(bytes.Clone(key), 0, 0, 0, chunk), []byte("chunk"))
		}
	}
	require.NoError(t, store.Apply(&b))

	require.Equal(t, ids, scanned(t, store, "BlobMeta"))
	require.Equal(t, ids[:2], scanned(t, store, "BlobMeta", "--limit", "2"))
	require.Equal(t, []string{ids[3], ids[2], ids[1], ids[0]}, scanned(t, store, "BlobMeta", "--reverse"))
	require.Equal(t, []string{ids[3], ids[2]}, scanned(t, store, "BlobMeta", "--reverse", "--limit", "2"))
	require.Equal(t, ids[1:3], scanned(t, store, "BlobMeta", "--from", "01", "--to", "AB"))
	require.Len(t, scanned(t, store, "BlobChunk"), 40+80+120)
	require.Len(t, scanned(t, store, ""), 4+40+80+120)
	require.Len(t, scanned(t, store, "", "--limit", "7"), 7)
}

func TestARecordThatDoesNotParseEndsAScanAsDamage(t *testing.T) {
	store := mem.New()
	t.Cleanup(func() { _ = store.Close() })
	var b engine.Batch
	key := append([]byte{0x25}, bytes.Repeat([]byte{7}, 64)...)
	b.Put(column.Group, key, []byte("canary"))
	require.NoError(t, store.Apply(&b))

	var out, errs strings.Builder
	p := &process{stdout: &out, stderr: &errs}
	err := p.emitRows(scan{column: column.Group}, store, false)
	f := explain(err)
	require.Equal(t, exitDamage, f.code)
	require.ErrorContains(t, err, "Group "+hex.EncodeToString(key))
	require.NotContains(t, err.Error(), "canary")
	require.NotContains(t, err.Error(), hex.EncodeToString([]byte("canary")))
	require.Empty(t, out.String())
}

// In a directory what does not parse is listed, and what follows too.
func TestAScanOfADirectoryGoesOnBehindRecordsThatDoNotParse(t *testing.T) {
	store := mem.New()
	t.Cleanup(func() { _ = store.Close() })
	var b engine.Batch
	secret := append([]byte{0x25}, bytes.Repeat([]byte{7}, 64)...)
	b.Put(column.Group, secret, []byte("canary"))
	b.Put(column.Group, []byte{0x99}, []byte("canary"))
	member := keys.GroupMember{Group: codec.GroupID{1}, Identity: codec.Identity{2}}
	engine.Put(&b, member, codec.GroupMemberRole(0))
	require.NoError(t, store.Apply(&b))
	source := inspect.From(store, inspect.Facts{})

	for _, reverse := range []bool{false, true} {
		var out, errs strings.Builder
		p := &process{stdout: &out, stderr: &errs}
		err := p.emitRows(scan{column: column.Group, window: engine.Range{Reverse: reverse}}, source, false)
		require.Equal(t, exitDamage, explain(err).code)
		require.ErrorContains(t, err, "2 places could not be read")
		require.Equal(t, 1, strings.Count(out.String(), "\n"))
		require.Contains(t, out.String(), "GroupMember  ")
		require.Contains(t, errs.String(), "value  Group "+hex.EncodeToString(secret)+"  ")
		require.Contains(t, errs.String(), "key  Group 99  ")
		require.Contains(t, errs.String(), "1 record\n")
		require.NotContains(t, errs.String(), "canary")
		require.NotContains(t, errs.String(), hex.EncodeToString([]byte("canary")))
	}
}

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
	list, err := client.Namespaces().List(t.Context(), codec.GroupID{}, 10)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, ids, []codec.GroupID{list[0].ID, list[1].ID, list[2].ID})
	require.Equal(t, []int{1, 0, 1}, []int{list[0].Ops, list[1].Ops, list[2].Ops})
	require.Contains(t, told(), "value  Group ")
	require.Contains(t, told(), "key  Group ")
	require.Equal(t, 2, o.lost)

	first, err := client.Namespaces().List(t.Context(), codec.GroupID{}, 1)
	require.NoError(t, err)
	require.Equal(t, list[:1], first)
	rest, err := client.Namespaces().List(t.Context(), ids[0], 1)
	require.NoError(t, err)
	require.Equal(t, list[1:2], rest)
}

// readingOffline returns a client of a store that is read as a directory is, and what
// it was told of damage.
func readingOffline(t *testing.T, store engine.Engine) (*offlineStore, *rpc.Client, func() string) {
	var errs strings.Builder
	o := &offlineStore{p: &process{stderr: &errs, stdout: &errs}}
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
