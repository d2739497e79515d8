package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
)

// keyValues runs fn on the key-values of an engine, which are at rest when it
// returns.
func keyValues(t *testing.T, e engine.Engine, fn func(ctx context.Context, s *kvstorage.Storage)) {
	store, err := kv.Open(e, kv.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := kvstorage.New(store, kvstorage.Options{})
	require.NoError(t, err)
	fn(t.Context(), s)
	require.NoError(t, store.Close())
}

// fillKeyValues puts some for two tenants.
func fillKeyValues(t *testing.T, e engine.Engine) {
	day := int64(86400)
	keyValues(t, e, func(ctx context.Context, s *kvstorage.Storage) {
		for _, tenant := range []string{"acme", "\xff\x00"} {
			_, err := s.Put(ctx, tenant, "greeting", []byte(`"hello"`), kvstorage.WriteOptions{TTLSeconds: &day})
			require.NoError(t, err)
			_, err = s.Increment(ctx, tenant, "visits", 1<<60, kvstorage.WriteOptions{})
			require.NoError(t, err)
			_, err = s.Put(ctx, tenant, "long", []byte(`"`+string(bytes.Repeat([]byte("x"), 2*kv.MaxInline))+`"`), kvstorage.WriteOptions{})
			require.NoError(t, err)
			_, err = s.Delete(ctx, tenant, "visits", kvstorage.WriteOptions{})
			require.NoError(t, err)
		}
	})
}

// kvRows returns the key of the row of each shape that is last.
func kvRows(t *testing.T, e engine.Engine) map[string][]byte {
	shapes := map[string][]byte{}
	it, err := e.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		var parts struct{ Shape string }
		r := NewPrinter(e, false).Record(column.Generic, it.Key(), it.Value())
		require.NoError(t, json.Unmarshal(r.KV, &parts))
		shapes[parts.Shape] = bytes.Clone(it.Key())
	}
	return shapes
}

func findings(t *testing.T, e engine.Engine, full bool) (codes []string) {
	_, err := Verify(t.Context(), From(e, Facts{}), VerifyOptions{Full: full}, func(f Finding) error {
		codes = append(codes, f.Code)
		return nil
	})
	require.NoError(t, err)
	return codes
}

// Rows of key-values are shown by what is in their keys, and one that is none of
// theirs is found.
func TestX14RowsOfKeyValuesAreShownAndVerified(t *testing.T) {
	e := mem.New()
	defer e.Close()
	fillKeyValues(t, e)
	require.Empty(t, findings(t, e, true))
	shapes := kvRows(t, e)
	for _, shape := range []string{"meta", "record", "log", "due", "tenant", "tenant_name", "space", "space_name", "tenant_space", "store"} {
		require.Contains(t, shapes, shape)
	}
	row, err := kv.ParseRow(shapes["record"])
	require.NoError(t, err)
	require.Equal(t, "long", string(row.Key))

	apply(t, e, func(b *engine.Batch) { b.Put(column.Generic, append(make([]byte, 16), '?'), nil) })
	require.Equal(t, []string{"kv-row"}, findings(t, e, false))
	require.Equal(t, []string{"kv-row"}, findings(t, e, true))
}

// A full verification recounts what is derived.
func TestVerifyRecountsKeyValues(t *testing.T) {
	for code, damage := range map[string]func(b *engine.Batch, shapes map[string][]byte){
		"kv-due":      func(b *engine.Batch, s map[string][]byte) { b.Delete(column.Generic, s["due"]) },
		"kv-counters": func(b *engine.Batch, s map[string][]byte) { b.Delete(column.Generic, s["record"]) },
		"kv-log":      func(b *engine.Batch, s map[string][]byte) { b.Delete(column.Generic, s["log"]) },
		"kv-registry": func(b *engine.Batch, s map[string][]byte) { b.Delete(column.Generic, s["tenant_name"]) },
		"kv-value":    func(b *engine.Batch, s map[string][]byte) { b.Put(column.Generic, s["log"], []byte("x")) },
	} {
		t.Run(code, func(t *testing.T) {
			e := mem.New()
			defer e.Close()
			fillKeyValues(t, e)
			apply(t, e, func(b *engine.Batch) { damage(b, kvRows(t, e)) })
			require.Empty(t, findings(t, e, false))
			require.Contains(t, findings(t, e, true), code)
		})
	}
}

// A store of key-values that was exported with what cursors are signed with, and
// imported, is the same one, also for the daemon that goes on with it.
func TestKeyValuesAreExportedAndImportedAsTheyWere(t *testing.T) {
	a, b := mem.New(), mem.New()
	defer a.Close()
	defer b.Close()
	fillKeyValues(t, a)
	text, done := dump(t, a, ExportOptions{Reveal: true})
	require.Zero(t, done.Redacted)
	got, err := Import(t.Context(), bytes.NewReader(text), b, ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, done.Rows, got.Rows)
	require.Equal(t, digests(t, a), digests(t, b))
	require.Empty(t, findings(t, b, true))

	next := ""
	keyValues(t, a, func(ctx context.Context, s *kvstorage.Storage) {
		page, err := s.List(ctx, "acme", kvstorage.ListOptions{Limit: 1})
		require.NoError(t, err)
		next = page.Next
	})
	keyValues(t, b, func(ctx context.Context, s *kvstorage.Storage) {
		page, err := s.List(ctx, "acme", kvstorage.ListOptions{Limit: 1, Cursor: next})
		require.NoError(t, err)
		require.Equal(t, "long", page.Items[0].Key)
		i, err := s.Put(ctx, "acme", "more", []byte("1"), kvstorage.WriteOptions{})
		require.NoError(t, err)
		require.EqualValues(t, 5, i.Revision)
	})
	require.Empty(t, findings(t, b, true))
}
