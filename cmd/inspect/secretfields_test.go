package inspect

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// workers is the collection that the tests of package record have secrets in, which
// keeps history here.
func workers(t testing.TB) *record.Collection {
	text, err := os.ReadFile("../../kv/record/testdata/worker.json")
	require.NoError(t, err)
	c, err := record.Parse(bytes.Replace(text, []byte(`"max_bytes": 8192`), []byte(`"max_bytes": 8192, "history": 4`), 1))
	require.NoError(t, err)
	return c
}

// secrets are what writeOnly fields of workerStore have.
var secrets = []string{"first-s3cr3t", "second-s3cr3t", "third-" + strings.Repeat("s3cr3t", 100)}

// withWorkers runs fn on the workers in an engine.
func withWorkers(t testing.TB, e engine.Engine, fn func(ctx context.Context, s *record.Store)) {
	store, err := kv.Open(e, kv.Options{Clock: kvtest.New(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := record.New(store, record.Options{}, workers(t))
	require.NoError(t, err)
	fn(t.Context(), s)
	require.NoError(t, store.Close())
}

// workerStore is a store of workers with secrets: some changed, one removed.
func workerStore(t testing.TB) (*Source, engine.Engine) {
	e := mem.New()
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	withWorkers(t, e, func(ctx context.Context, s *record.Store) {
		for _, doc := range []string{
			`{"worker_id":"a","boss":"x","login":{"name":"ann","token":"` + secrets[0] + `"}}`,
			`{"worker_id":"b","keys":[{"for":"y","secret":"` + secrets[2] + `"},{"for":"z"}]}`,
			`{"worker_id":"c","boss":"x"}`,
			`{"worker_id":"d","login":{"token":"` + secrets[0] + `"}}`,
		} {
			_, err := s.Create(ctx, "acme", "worker", []byte(doc), record.WriteOptions{})
			require.NoError(t, err)
		}
		_, err := s.Update(ctx, "acme", "worker", "a", []byte(`{"login":{"token":"`+secrets[1]+`"},"age":7}`), record.UpdateOptions{})
		require.NoError(t, err)
		_, err = s.Delete(ctx, "acme", "worker", "d", record.UpdateOptions{})
		require.NoError(t, err)
	})
	return knowing(t, e), e
}

// knowing is a source that knows the workers.
func knowing(t testing.TB, e engine.Engine) *Source {
	s, c := From(e, Facts{}), workers(t)
	s.collections = func() (collections, error) { return collections{c.Name: c}, nil }
	return s
}

// hidden demands that none of the secrets is in a text, nor in what it has in hex.
func hidden(t testing.TB, text []byte, _ ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, form := range []string{secret, hex.EncodeToString([]byte(secret))} {
			require.False(t, bytes.Contains(text, []byte(form)), "%.20s… is shown", secret)
		}
	}
}

// What is writeOnly is shown by nothing that shows rows, unless it is asked for; the rest
// of its document is.
func TestSecretsOfRecordsAreNotShown(t *testing.T) {
	s, e := workerStore(t)
	print := func(p *Printer) (all []byte) {
		it, err := e.Iterate(column.Generic, engine.Range{})
		require.NoError(t, err)
		defer it.Close()
		for it.Next() {
			line, err := json.Marshal(p.Record(column.Generic, it.Key(), it.Value()))
			require.NoError(t, err)
			all = append(append(all, line...), '\n')
		}
		return all
	}
	text := print(s.Printer(false))
	hidden(t, text)
	require.Contains(t, string(text), `"record":{"tenant":"acme","collection":"worker","row":"record","id":"a","revision":"5","document":{"age":7,"boss":"x","login":{"name":"ann","token":"redacted:`)
	require.Contains(t, string(text), `"row":"log","id":"a","change":"put","revision":"5"`)
	require.Contains(t, string(text), `"row":"index","id":"c","index":"by_boss"`)
	require.Contains(t, string(text), `"row":"meta","document":{"bytes":`)
	require.Contains(t, string(text), hex.EncodeToString([]byte(`"worker_id":"c"`)), "what has no secret is shown as it is")
	for _, secret := range secrets {
		require.Contains(t, string(print(s.Printer(true))), secret)
	}
	hidden(t, print(From(e, Facts{}).Printer(false)), "a collection that is not known may have secrets")
	hidden(t, print(newLogPrinter()))

	r := findRow(t, s, "worker", kv.ShapeRecord, "a")
	hides, err := s.Printer(false).Hides(column.Generic, r.key, r.value)
	require.NoError(t, err)
	require.True(t, hides)
	hides, err = s.Printer(true).Hides(column.Generic, r.key, r.value)
	require.NoError(t, err)
	require.False(t, hides)
	damaged := bytes.Replace(r.value, []byte(`"boss"`), []byte(`"boss `), 1)
	line, err := json.Marshal(s.Printer(false).Record(column.Generic, r.key, damaged))
	require.NoError(t, err)
	hidden(t, line, "of a document that does not parse nobody knows where its secrets are")

	damaged = append([]byte{0xFF}, r.value[1:]...)
	line, err = json.Marshal(s.Printer(false).Record(column.Generic, r.key, damaged))
	require.NoError(t, err)
	hidden(t, line, "nor of a record")

	p := newLogPrinter()
	p.spaces.declared = s.collections
	require.Nil(t, p.Record(column.Generic, r.key, r.value).Document, "its names have not come yet")
	for _, row := range []kv.Row{{Shape: kv.ShapeSpaceName, Kind: uint8(kv.SystemRecord), Number: uint64(r.kv.Scope.Space())}, {Shape: kv.ShapeTenantName, Number: r.kv.Scope.Tenant()}} {
		key := row.AppendKey(nil)
		value, err := e.Get(nil, column.Generic, key)
		require.NoError(t, err)
		p.Record(column.Generic, key, value)
	}
	require.Equal(t, "acme", p.Record(column.Generic, r.key, r.value).Document.Tenant)

	other, e2 := copyOf(t, s)
	apply(t, e2, func(b *engine.Batch) { b.Delete(column.Generic, r.key) })
	for _, pair := range [][2]*Source{{s, other}, {other, s}} {
		_, err = Diff(t.Context(), pair[0], pair[1], func(d Difference) error {
			line, err := json.Marshal(d)
			hidden(t, line)
			return err
		}, nil)
		require.NoError(t, err)
	}
}

// A dump without secrets is a whole store in which they were never set, and an import of
// it says of what.
func TestADumpWithoutSecretsIsAStoreWithoutThem(t *testing.T) {
	s, _ := workerStore(t)
	require.Empty(t, findingsOf(t, s))
	write := func(o ExportOptions) ([]byte, *Exported) {
		var text bytes.Buffer
		o.Plain = true
		done, err := Export(t.Context(), s, &text, o)
		require.NoError(t, err)
		require.Empty(t, done.Findings)
		return text.Bytes(), done
	}
	text, done := write(ExportOptions{})
	hidden(t, text)
	require.EqualValues(t, 2, done.Withheld)
	require.EqualValues(t, 1, done.Redacted, "what cursors are signed with")
	e := mem.New()
	defer e.Close()
	got, err := Import(t.Context(), bytes.NewReader(text), e, ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, []Withheld{{"worker", []string{"login.token", "keys.*.secret"}, 2}}, got.Withheld)
	require.Empty(t, findingsOf(t, knowing(t, e)))
	withWorkers(t, e, func(ctx context.Context, s *record.Store) {
		d, err := s.Get(ctx, "acme", "worker", "a")
		require.NoError(t, err)
		require.JSONEq(t, `{"worker_id":"a","age":7,"boss":"x","login":{"name":"ann"}}`, string(d.JSON))
		list, err := s.History(ctx, "acme", "worker", "a")
		require.NoError(t, err)
		require.Len(t, list, 2)
		_, err = s.Update(ctx, "acme", "worker", "a", []byte(`{"login":{"token":"again"}}`), record.UpdateOptions{})
		require.NoError(t, err)
	})
	require.Empty(t, findingsOf(t, knowing(t, e)))

	text, done = write(ExportOptions{Reveal: true})
	require.Zero(t, done.Withheld)
	whole := mem.New()
	defer whole.Close()
	got, err = Import(t.Context(), bytes.NewReader(text), whole, ImportOptions{})
	require.NoError(t, err)
	require.Empty(t, got.Withheld)
	require.Equal(t, digests(t, s.Reader), digests(t, whole))
}

// The records of all collections, ledger and approvals are after an export and an import
// what they were.
func TestRecordsAreExportedAndImportedAsTheyWere(t *testing.T) {
	s := policyStore(t)
	seen := map[string]bool{}
	for _, r := range recordRows(t, s) {
		seen[r.in.Name] = true
	}
	for _, name := range []string{policy.Policies, policy.Ledger, policy.Agents, policy.Intents, policy.Claims, policy.Delegations, policy.Approvals, policy.TenantRules} {
		require.True(t, seen[name], name)
	}
	for _, reveal := range []bool{false, true} {
		var text bytes.Buffer
		done, err := Export(t.Context(), s, &text, ExportOptions{Plain: true, Reveal: reveal})
		require.NoError(t, err)
		require.Zero(t, done.Withheld)
		require.Contains(t, text.String(), `"record":{"tenant":"acme","collection":"ledger","row":"record","id":"evt-20260301-000001","revision":"1","document":{"action":`)
		require.Contains(t, text.String(), `"record":{"tenant":"acme","collection":"ledger","row":"kept","kept":"kept:head","document":{"at":"2026-03-02T`)
		e := mem.New()
		defer e.Close()
		got, err := Import(t.Context(), &text, e, ImportOptions{})
		require.NoError(t, err)
		require.Empty(t, got.Withheld)
		copied := From(e, Facts{})
		copied.collections = s.collections
		require.Empty(t, findingsOf(t, copied))
		require.Equal(t, recordRowsText(t, s), recordRowsText(t, copied))
	}
}

// recordRowsText is all rows of collections.
func recordRowsText(t testing.TB, s *Source) (all []string) {
	for _, r := range recordRows(t, s) {
		all = append(all, string(r.key)+"="+string(r.value))
	}
	return all
}

// A ledger that is no chain up to its head is not imported, or reported where that is
// wanted.
func TestALedgerThatDoesNotHoldIsNotImported(t *testing.T) {
	whole := policyStore(t)
	for name, tc := range map[string]struct {
		change func(b *engine.Batch, s *Source)
		code   string
		says   string
	}{
		"changed": {func(b *engine.Batch, s *Source) {
			r := findRow(t, s, policy.Ledger, kv.ShapeRecord, "20260302-\x06000001")
			b.Put(column.Generic, r.key, replaced(t, r.value, "number 0", "number 1"))
		}, "ledger-chain", "evt-20260302-000001: it was changed"},
		"missing": {func(b *engine.Batch, s *Source) {
			b.Delete(column.Generic, findRow(t, s, policy.Ledger, kv.ShapeRecord, "20260301-\x06000002").key)
		}, "ledger-chain", "evt-20260301-000002: it is missing"},
		"newest missing": {func(b *engine.Batch, s *Source) {
			b.Delete(column.Generic, findRow(t, s, policy.Ledger, kv.ShapeRecord, "20260302-\x06000003").key)
		}, "ledger-head", "evt-20260302-000003: it is missing, and is the head"},
		"head missing": {func(b *engine.Batch, s *Source) {
			b.Delete(column.Generic, findRow(t, s, policy.Ledger, kv.ShapeKept, "kept:head").key)
		}, "ledger-head", "the head of the ledger is missing"},
		"no event": {func(b *engine.Batch, s *Source) {
			r := findRow(t, s, policy.Ledger, kv.ShapeRecord, "20260302-\x06000003")
			b.Put(column.Generic, append(bytes.Clone(r.key), 'x'), r.value)
		}, "ledger-chain", "no id"},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := copyOf(t, whole)
			apply(t, e, func(b *engine.Batch) { tc.change(b, s) })
			var text bytes.Buffer
			_, err := Export(t.Context(), s, &text, ExportOptions{})
			require.NoError(t, err)
			to := mem.New()
			defer to.Close()
			_, err = Import(t.Context(), bytes.NewReader(text.Bytes()), to, ImportOptions{})
			require.ErrorIs(t, err, ErrLedger)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, `collection ledger of tenant "acme"`)
			lenient := mem.New()
			defer lenient.Close()
			var found []Finding
			got, err := Import(t.Context(), bytes.NewReader(text.Bytes()), lenient, ImportOptions{Damaged: func(f Finding) error {
				found = append(found, f)
				return nil
			}})
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.EqualValues(t, 1, got.Ledgers)
			require.Equal(t, tc.code, found[0].Code)
			require.Equal(t, recordRowsText(t, s), recordRowsText(t, From(lenient, Facts{})), "it is imported as it is")
		})
	}
}

// The end of a ledger is looked at too where it is the end of all.
func TestALedgerThatEndsAStoreHasAnEnd(t *testing.T) {
	e := mem.New()
	defer e.Close()
	policies(t, e, kvtest.New(), func(ctx context.Context, s *policy.Store) {
		_, err := s.Records().Create(ctx, "acme", policy.Intents, []byte(`{"intent_id":"int-20251130-x1y2z3","actor":"user:a","goal":"g"}`), record.WriteOptions{})
		require.NoError(t, err)
		for i := range 2 {
			_, err := s.Append(ctx, "acme", fmt.Appendf(nil, anEvent, i), record.WriteOptions{})
			require.NoError(t, err)
		}
	})
	s := From(e, Facts{})
	rows := recordRows(t, s)
	require.Equal(t, policy.Ledger, rows[len(rows)-1].in.Name)
	apply(t, e, func(b *engine.Batch) { b.Delete(column.Generic, rows[len(rows)-1].key) })
	codes := findings(t, e, true)
	require.Contains(t, codes, "ledger-head")
	var text bytes.Buffer
	_, err := Export(t.Context(), s, &text, ExportOptions{})
	require.NoError(t, err)
	to := mem.New()
	defer to.Close()
	_, err = Import(t.Context(), &text, to, ImportOptions{})
	require.ErrorIs(t, err, ErrLedger)
}
