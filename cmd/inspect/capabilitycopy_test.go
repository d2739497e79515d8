package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/policy"
)

// systems are those whose rows everySystem has.
var systems = []kv.System{kv.SystemStorage, kv.SystemRecord, kv.SystemLock, kv.SystemSetting, kv.SystemLimit, kv.SystemEvent, kv.SystemJob, kv.SystemBucket, kv.SystemStream}

// everySystem is a store in which acme has rows of every system, and others have some.
func everySystem(t *testing.T) engine.Engine {
	e := mem.New()
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	fillKeyValues(t, e)
	fillPolicies(t, e)
	fillCapabilities(t, e)
	require.Empty(t, findings(t, e, true))
	return e
}

// A row of whatever system is shown by its system, its space, its tenant, its shape and what
// else is in its key; one of no shape, in the space of whichever system, and one of a system
// that nobody knows are found.
func TestX14RowsOfEverySystemAreShownAndUnknownOnesFound(t *testing.T) {
	e := everySystem(t)
	seen, scopes := map[kv.System]map[string]bool{}, map[kv.System]keys.Scope{}
	it, err := e.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for print := NewPrinter(e, false); it.Next(); {
		r := print.Record(column.Generic, it.Key(), it.Value())
		require.Empty(t, r.Fault)
		require.NotEmpty(t, r.Type)
		var parts struct {
			System kv.System
			Space  uint32
			Tenant string
			Shape  string
		}
		require.NoError(t, json.Unmarshal(r.KV, &parts), "%x", it.Key())
		if scope := keys.Scope(it.Key()); scope.System() != 0 {
			require.Equal(t, kv.System(scope.System()), parts.System)
			require.NotZero(t, parts.Space)
			require.NotEmpty(t, parts.Tenant)
			scopes[parts.System] = scope
		}
		if seen[parts.System] == nil {
			seen[parts.System] = map[string]bool{}
		}
		seen[parts.System][parts.Shape] = true
	}
	require.NoError(t, it.Err())
	require.ElementsMatch(t, append(systems, 0), slices.Collect(maps.Keys(seen)), "the scope of what all spaces share too")
	for _, shape := range []string{"head", "entry", "group", "pending"} {
		require.Contains(t, seen[kv.SystemEvent], shape)
	}
	require.Contains(t, seen[kv.SystemJob], "job")

	unknown := keys.Scope{0: 0, 1: 99, 15: 1}
	for system, key := range map[kv.System][]byte{99: kv.Row{Scope: unknown, Shape: kv.ShapeRecord, Key: []byte("k")}.AppendKey(nil)} {
		require.Equal(t, uint8(system), keys.Scope(key).System())
		apply(t, e, func(b *engine.Batch) { b.Put(column.Generic, key, bytes.Repeat([]byte{1}, kvRecordHeader)) })
		require.Contains(t, findings(t, e, true), "kv-counters")
		apply(t, e, func(b *engine.Batch) { b.Delete(column.Generic, key) })
	}
	for _, system := range systems {
		scope := scopes[system]
		apply(t, e, func(b *engine.Batch) { b.Put(column.Generic, append(scope[:], '?'), nil) })
		require.Equal(t, []string{"kv-row"}, findings(t, e, false), "system %d", system)
		apply(t, e, func(b *engine.Batch) { b.Delete(column.Generic, append(scope[:], '?')) })
	}
	require.Empty(t, findings(t, e, true))
}

// What a tenant has of all systems goes by a dump to a store of its own: nothing of another
// is in it, the dump of that store is the same, and it is sound and goes on.
func TestX15ATenantOfEverySystemIsExportedAndImported(t *testing.T) {
	e, tenant := everySystem(t), "acme"
	text, done := dump(t, e, ExportOptions{Tenant: &tenant, Reveal: true, Plain: true})
	require.Zero(t, done.Redacted)
	require.NotContains(t, string(text), `"other"`)
	to := mem.New()
	defer to.Close()
	got, err := Import(t.Context(), bytes.NewReader(text), to, ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, done.Rows, got.Rows)
	require.Empty(t, findings(t, to, true))
	again, _ := dump(t, to, ExportOptions{Tenant: &tenant, Reveal: true, Plain: true})
	require.Equal(t, string(text), string(again))
	all, _ := dump(t, to, ExportOptions{Reveal: true, Plain: true})
	require.Equal(t, bytes.Count(text, []byte("\n")), bytes.Count(all, []byte("\n")), "there is nothing else")
	of := map[kv.System]bool{}
	for _, s := range systems {
		of[s] = len(spaceRows(t, From(to, Facts{}), s)) > 0
	}
	require.NotContains(t, slices.Collect(maps.Values(of)), false)

	keyValues(t, to, func(ctx context.Context, s *kvstorage.Storage) {
		_, err := s.Put(ctx, "newcomer", "k", []byte("1"), kvstorage.WriteOptions{})
		require.NoError(t, err)
	})
	require.Empty(t, findings(t, to, true), "the next tenant has a number of its own")

	hidden, _ := dump(t, e, ExportOptions{Tenant: &tenant, Plain: true})
	require.NotContains(t, string(hidden), sessionSecret)
	apart := mem.New()
	defer apart.Close()
	_, err = Import(t.Context(), bytes.NewReader(hidden), apart, ImportOptions{})
	require.NoError(t, err)
	require.Empty(t, findings(t, apart, true))
	policies(t, apart, kvtest.New(), func(ctx context.Context, s *policy.Store) {
		for f, err := range s.Verify(ctx, tenant) {
			require.NoError(t, err)
			require.Fail(t, f.String())
		}
	})

	nobody := "nobody"
	_, err = Export(t.Context(), From(e, Facts{}), &bytes.Buffer{}, ExportOptions{Tenant: &nobody})
	require.ErrorIs(t, err, kv.ErrSpaceNotFound)
	_, err = Export(t.Context(), From(e, Facts{}), &bytes.Buffer{}, ExportOptions{Tenant: &tenant, Context: &codec.ContextID{}})
	require.ErrorContains(t, err, "not of two")
}
