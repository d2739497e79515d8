package inspect

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
)

// lockStore is a store with locks that are held, shared, released and expired, and an agent.
func lockStore(t *testing.T) *Source {
	e := mem.New()
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	log := slog.New(slog.DiscardHandler)
	store, err := kv.Open(e, kv.Options{Clock: kvtest.New(), Log: log})
	require.NoError(t, err)
	s, err := lock.New(store, lock.Options{Log: log})
	require.NoError(t, err)
	require.NoError(t, s.Register(t.Context(), "acme", "deployer", 3, engine.WAL))
	for _, r := range []lock.Request{
		{Name: lock.Task("1"), Agent: "deployer", Purpose: "a deployment"},
		{Name: lock.Task("2"), Agent: "deployer"},
		{Name: lock.Resource("database", "main"), Agent: "reader-1", Mode: lock.Shared},
		{Name: lock.Resource("database", "main"), Agent: "reader-2", Mode: lock.Shared},
	} {
		_, err := s.Acquire(t.Context(), "acme", r)
		require.NoError(t, err)
	}
	held, err := s.Release(t.Context(), "acme", lock.Holding{Name: lock.Task("2"), Agent: "deployer"}, engine.WAL)
	require.NoError(t, err)
	require.True(t, held)
	s.Close()
	require.NoError(t, store.Close())
	return From(e, Facts{})
}

// lockRow is the row of a shape of the locks of acme whose key has a text in it.
func lockRow(t *testing.T, s *Source, shape kv.Shape, text string) (key, value []byte) {
	return rowOf(t, s, kv.SystemLock, shape, text)
}

// rowOf is the row of a shape of the spaces of a system whose key has a text in it.
func rowOf(t *testing.T, s *Source, system kv.System, shape kv.Shape, text string) (key, value []byte) {
	for _, r := range spaceRows(t, s, system) {
		if r.kv.Shape == shape && bytes.Contains(r.key, []byte(text)) {
			return r.key, r.value
		}
	}
	require.Fail(t, "there is no such row", "%s %q", shape, text)
	return nil, nil
}

// A directory with locks is clean, and what is damaged of one is found, with the tenant
// and the lock; of an index too.
func TestVerifyLooksAtLocks(t *testing.T) {
	whole := lockStore(t)
	require.Empty(t, findingsOf(t, whole))
	edited := func(name, old, text string) func(t *testing.T, s *Source, b *engine.Batch) {
		return func(t *testing.T, s *Source, b *engine.Batch) {
			key, value := lockRow(t, s, kv.ShapeRecord, name)
			b.Put(column.Generic, key, replaced(t, value, old, text))
		}
	}
	for name, tc := range map[string]struct {
		change func(t *testing.T, s *Source, b *engine.Batch)
		code   string
		says   []string
	}{
		"a holder is there twice": {edited("database", "reader-1", "reader-2"), "lock-row", []string{`locks of tenant "acme"`, `"resource:database:main"`, "twice"}},
		"no bytes of an agent": {func(t *testing.T, s *Source, b *engine.Batch) {
			key, value := lockRow(t, s, kv.ShapeRecord, "agent:deployer")
			value[len(value)-agentBytesFromStatus] = 9
			b.Put(column.Generic, key, value)
		}, "lock-row", []string{`"agent:deployer"`, "no known status"}},
		"a name of no lock": {func(t *testing.T, s *Source, b *engine.Batch) {
			key, value := lockRow(t, s, kv.ShapeRecord, "task:1")
			b.Put(column.Generic, bytes.Replace(key, []byte("task:1"), []byte("tosk:1"), 1), value)
		}, "lock-row", []string{`"tosk:1"`, "a lock is task:ID"}},
		"an index row is missing": {func(t *testing.T, s *Source, b *engine.Batch) {
			key, _ := lockRow(t, s, kv.ShapeIndex, "reader-1")
			b.Delete(column.Generic, key)
		}, "kv-index", []string{`locks of tenant "acme"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := copyOf(t, whole)
			apply(t, e, func(b *engine.Batch) { tc.change(t, s, b) })
			var of []string
			for _, f := range findingsOf(t, s) {
				if f.Code == tc.code {
					of = append(of, f.Reason)
				}
			}
			require.NotEmpty(t, of, "there is no %s", tc.code)
			for _, text := range tc.says {
				require.Contains(t, of[0], text)
			}
			for _, code := range findings(t, e, false) {
				require.NotEqual(t, "lock-row", code, "only a full verification reads what locks say")
			}
		})
	}
}

// agentBytesFromStatus is how far from the end of an agent's record its status is.
const agentBytesFromStatus = 1 + 4 + 8
