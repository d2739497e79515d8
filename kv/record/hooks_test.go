package record

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/kvtest"
)

// newHostOf returns a host with some collections.
func newHostOf(t *testing.T, sets ...*Collection) *host {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	clock := kvtest.New()
	store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s, err := New(store, Options{}, sets...)
	require.NoError(t, err)
	return &host{t, clock, store, s}
}

// Prepare has a say in every document that is made, changed or imported, and none where
// nothing changes.
func TestDocumentsArePreparedBeforeTheSchemaLooksAtThem(t *testing.T) {
	c := parse(t, workerJSON)
	c.Prepare = func(doc json.RawMessage) (json.RawMessage, error) {
		if strings.Contains(string(doc), `"refuse"`) {
			return nil, &Error{Code: CodeValidation, Field: "refuse", Reason: "no"}
		}
		return document.With(doc, document.Path{"prepared"}, json.RawMessage("true")), nil
	}
	h := newHostOf(t, c)
	d, err := h.Create(ctx, "t", c.Name, object{"worker_id": "ann"}.json(), WriteOptions{})
	require.NoError(t, err)
	require.Contains(t, string(d.JSON), `"prepared":true`)
	same, err := h.Update(ctx, "t", c.Name, d.ID, []byte(`{"prepared":false}`), UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, d.Revision, same.Revision, "it was made what it is")
	_, err = h.Update(ctx, "t", c.Name, d.ID, []byte(`{"refuse":1}`), UpdateOptions{})
	refused(t, err, CodeValidation, "refuse")
	_, err = h.Create(ctx, "t", c.Name, []byte(`{"worker_id":"bob","refuse":1}`), WriteOptions{})
	refused(t, err, CodeValidation, "refuse")
	var lines strings.Builder
	require.NoError(t, h.Export(ctx, "t", c.Name, &lines))
	_, err = h.Import(ctx, "u", c.Name, strings.NewReader(strings.Replace(lines.String(), `"prepared":true`, `"prepared":false`, 1)))
	require.NoError(t, err)
	there, err := h.Get(ctx, "u", c.Name, d.ID)
	require.NoError(t, err)
	require.Contains(t, string(there.JSON), `"prepared":true`)
}

// No verb changes what is appended, nor removes it.
func TestAnAppendOnlyCollectionIsOnlyAppendedTo(t *testing.T) {
	c := parse(t, strings.Replace(entryJSON, `"immutable"`, `"append_only": true, "immutable"`, 1))
	h := newHostOf(t, c)
	d, err := h.Create(ctx, "t", c.Name, []byte(`{"what":"a"}`), WriteOptions{})
	require.NoError(t, err)
	_, err = h.Update(ctx, "t", c.Name, d.ID, []byte(`{"more":1}`), UpdateOptions{})
	refused(t, err, CodeImmutable, "collection")
	_, err = h.Delete(ctx, "t", c.Name, d.ID, UpdateOptions{})
	refused(t, err, CodeImmutable, "collection")
	_, err = h.Import(ctx, "t", c.Name, strings.NewReader(string(d.JSON)))
	refused(t, err, CodeImmutable, "collection")
	for name, verb := range map[string]func(tx *Tx) error{
		"update": func(tx *Tx) error {
			_, err := tx.Update(c.Name, d.ID, []byte(`{"more":1}`), UpdateOptions{})
			return err
		},
		"delete": func(tx *Tx) error { _, err := tx.Delete(c.Name, d.ID, UpdateOptions{}); return err },
		"note":   func(tx *Tx) error { _, err := tx.Note(c.Name, d.ID, json.RawMessage(`{"more":1}`)); return err },
	} {
		err := h.Do(ctx, "t", engine.WAL, verb)
		require.NotNil(t, err, name)
		refused(t, err, CodeImmutable, "collection")
	}
	now, err := h.Get(ctx, "t", c.Name, d.ID)
	require.NoError(t, err)
	require.Equal(t, d, now)
}

// Time says when a record with a daily id is made, and Place what is stored, by what the
// collection keeps for itself; a refusal of Place takes no number.
func TestAPlaceIsGivenInTheBatch(t *testing.T) {
	c := parse(t, entryJSON)
	day := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	c.Time = func(tx *Tx) (time.Time, error) { return day, nil }
	c.Place = func(tx *Tx, d Doc) (json.RawMessage, error) {
		last, err := tx.Kept(c.Name, "last")
		if err != nil || strings.Contains(string(d.JSON), "refuse") {
			return nil, cmp.Or(err, error(Precondition("what", "no")))
		}
		return document.With(d.JSON, document.Path{"behind"}, document.FromText(string(last))), tx.Keep(c.Name, "last", []byte(d.ID))
	}
	h := newHostOf(t, c)
	add := func(what string) (Doc, error) {
		return h.Create(ctx, "t", c.Name, []byte(`{"what":"`+what+`"}`), WriteOptions{})
	}
	one, err := add("one")
	require.NoError(t, err)
	require.Equal(t, `{"behind":"","entry_id":"ent-20300102-000001","timestamp":"2030-01-02T03:04:05Z","what":"one"}`, string(one.JSON))
	_, err = add("refuse")
	refused(t, err, CodePrecondition, "what")
	two, err := add("two")
	require.NoError(t, err)
	require.Equal(t, `{"behind":"ent-20300102-000001","entry_id":"ent-20300102-000002","timestamp":"2030-01-02T03:04:05Z","what":"two"}`, string(two.JSON))
	view, err := h.View("t")
	require.NoError(t, err)
	defer func() { _ = view.Close() }()
	kept, err := view.Kept(c.Name, "last")
	require.NoError(t, err)
	require.Equal(t, two.ID, string(kept))
	nothing, err := view.Kept(c.Name, "other")
	require.NoError(t, err)
	require.Nil(t, nothing)
	page, err := h.List(ctx, "t", c.Name, Query{})
	require.NoError(t, err)
	require.Len(t, page.Docs, 2, "what is kept is no record")
}

// A draft is a document that is ready; a note changes fields that no patch does, and no
// stamp.
func TestDraftsAreInsertedAndNotesMoveNoStamp(t *testing.T) {
	c := parse(t, workerJSON)
	h := newHostOf(t, c)
	draft, err := h.Draft(c.Name, object{"worker_id": "ann"}.json())
	require.NoError(t, err)
	_, err = h.Draft(c.Name, []byte(`{}`))
	require.Error(t, err)
	var d, noted Doc
	require.NoError(t, h.Do(ctx, "t", engine.WAL, func(tx *Tx) (err error) {
		if d, err = tx.Insert(draft); err == nil {
			noted, err = tx.Note(c.Name, d.ID, json.RawMessage(`{"seen":1}`))
		}
		return err
	}))
	require.Equal(t, d.Ordinal, noted.Ordinal)
	require.Equal(t, string(document.With(d.JSON, document.Path{"seen"}, json.RawMessage("1"))), string(noted.JSON))
	err = h.Do(ctx, "t", engine.WAL, func(tx *Tx) error { _, err := tx.Insert(draft); return err })
	refused(t, err, CodeAlreadyExists, "worker_id")
	err = h.Do(ctx, "t", engine.WAL, func(tx *Tx) error { _, err := tx.Note(c.Name, "none", json.RawMessage(`{}`)); return err })
	refused(t, err, CodeNotFound, "id")
}

// The keys that a document stands under are those under which it is found.
func TestADocumentSaysItsKeys(t *testing.T) {
	boss := strings.Replace(workerJSON, `"by_boss", "fields": ["boss"]`, `"by_boss", "fields": ["boss"], "each": true`, 1)
	boss = strings.Replace(boss, `"boss": {"type": "string"}`, `"boss": {"type": "array"}`, 1)
	boss = strings.Replace(boss, `"max_bytes"`, `"valid": {"when": {"left": [false, null]}}, "max_bytes"`, 1)
	workers, entries := parse(t, boss), parse(t, entryJSON)
	h := newHostOf(t, workers, entries)
	now := h.clock.Now()
	d, err := h.Create(ctx, "t", "worker", object{"worker_id": "ann", "boss": []string{"bob", "eve"}}.json(), WriteOptions{})
	require.NoError(t, err)
	records, indexes := workers.KeysOf(d.JSON, now)
	require.Equal(t, []string{"worker:ann"}, records)
	require.Equal(t, []string{"worker:by_boss:bob", "worker:by_boss:eve"}, indexes)
	for _, key := range indexes {
		found, err := h.Lookup(ctx, "t", key)
		require.NoError(t, err)
		require.Equal(t, `["ann"]`, string(found))
	}
	d, err = h.Create(ctx, "t", "worker", object{"worker_id": "bob"}.json(), WriteOptions{})
	require.NoError(t, err)
	_, indexes = workers.KeysOf(d.JSON, now)
	require.Empty(t, indexes)
	_, indexes = workers.KeysOf(json.RawMessage(`{"boss":["bob"],"left":true,"worker_id":"ann"}`), now)
	require.Empty(t, indexes, "it is not in force")
	d, err = h.Create(ctx, "t", "entry", []byte(`{"what":"a"}`), WriteOptions{})
	require.NoError(t, err)
	records, indexes = entries.KeysOf(d.JSON, now)
	require.Equal(t, []string{"entry:" + d.ID}, records)
	require.Equal(t, []string{"entry:by_day:" + now.Format(time.DateOnly)}, indexes)
}
