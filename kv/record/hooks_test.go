package record

import (
	"cmp"
	"encoding/json"
	"fmt"
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

// appendedJSON is entryJSON, only appended to.
var appendedJSON = strings.Replace(entryJSON, `"immutable"`, `"append_only": true, "immutable"`, 1)

// No verb changes what is appended, nor removes it.
func TestAnAppendOnlyCollectionIsOnlyAppendedTo(t *testing.T) {
	c := parse(t, appendedJSON)
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

// chained is a record that names the one before it.
type chained struct {
	c   *Collection
	doc json.RawMessage
	day time.Time
}

func (d *chained) Place(tx *Tx) (Placed, error) {
	last, err := tx.Kept(d.c.Name, "last")
	if err != nil || strings.Contains(string(d.doc), "refuse") {
		return Placed{}, cmp.Or(err, error(Precondition("what", "no")))
	}
	n := uint64(1)
	if len(last) > 0 {
		_, n = d.c.ID.number(string(last))
		n++
	}
	id := d.c.ID.daily(d.day.Format(dayLayout), n)
	doc := document.With(d.c.numbered(d.doc, id, d.day), document.Path{"behind"}, document.FromText(string(last)))
	return Placed{id, doc, "last", []byte(id)}, nil
}

// What stands in for an id and a stamp until there is a place may come with Prepare, and
// nobody but that gives an id.
func TestAPlaceTakesWhatStandsInForIt(t *testing.T) {
	c := parse(t, appendedJSON)
	c.Prepare = func(doc json.RawMessage) (json.RawMessage, error) {
		if strings.Contains(string(doc), "bare") {
			return doc, nil
		}
		return document.Over(doc, json.RawMessage(`{"entry_id":"ent-00010101-000001","timestamp":"0001-01-01T00:00:00Z"}`)), nil
	}
	day := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	c.Placer = func(doc json.RawMessage) (Placer, error) {
		id, _ := document.Text(document.Field(doc, document.Path{"entry_id"}))
		stamp, _ := document.Text(document.Field(doc, document.Path{"timestamp"}))
		bare := strings.Contains(string(doc), "bare")
		require.Equal(t, !bare, id == "ent-00010101-000001", id)
		require.Equal(t, !bare, stamp == "0001-01-01T00:00:00Z", stamp)
		require.NotEmpty(t, id)
		require.NotEmpty(t, stamp)
		return &chained{c, doc, day}, nil
	}
	h := newHostOf(t, c)
	for n, what := range []string{"a", "bare", "b"} {
		d, err := h.Create(ctx, "t", c.Name, []byte(`{"what":"`+what+`"}`), WriteOptions{})
		require.NoError(t, err)
		require.Equal(t, c.ID.daily("20300102", uint64(n+1)), d.ID)
	}
	for _, what := range []string{"a", "bare"} {
		_, err := h.Create(ctx, "t", c.Name, []byte(`{"entry_id":"ent-20300102-000009","what":"`+what+`"}`), WriteOptions{})
		refused(t, err, CodeValidation, "entry_id")
	}
	err := h.Do(ctx, "t", engine.WAL, func(tx *Tx) error {
		for id, want := range map[string]bool{"ent-20300102-000003": true, "ent-20300102-000004": false, "no id": false} {
			has, err := tx.Has(c.Name, id)
			require.NoError(t, err)
			require.Equal(t, want, has, id)
		}
		_, err := tx.Has("none", "a")
		return err
	})
	refused(t, err, CodeUnknownCollection, "collection")
}

// A Placer says the id of a record and what is stored, by what the collection keeps for
// itself; its refusal changes nothing. The count of a day is that of its last id.
func TestAPlaceIsGivenInTheBatch(t *testing.T) {
	c := parse(t, entryJSON)
	day := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	c.Placer = func(doc json.RawMessage) (Placer, error) { return &chained{c, doc, day}, nil }
	_, err := New(newHostOf(t).kv, Options{}, c)
	refused(t, err, CodeInvalidArgument, "placer")
	placer := c.Placer
	c = parse(t, appendedJSON)
	c.Placer = placer
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
	require.Equal(t, []Doc{one, two}, page.Docs, "what is kept is no record")
	for key, want := range map[string]string{"2030-01-02": "2", "2030-01-01": "0", "2030-01-03": "0"} {
		n, err := h.Lookup(ctx, "t", "entry:counter:"+key)
		require.NoError(t, err)
		require.Equal(t, want, string(n), key)
	}
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

// A collection that is only appended to lists by its ids, without rows for that, just as
// one that may be changed lists by its indexes.
func TestIDsAnswerWhereNothingIsChanged(t *testing.T) {
	one, other := newHostOf(t, parse(t, entryJSON)), newHostOf(t, parse(t, appendedJSON))
	for _, h := range []*host{one, other} {
		for n := range 40 {
			h.create("entry", object{"what": fmt.Sprint("w", n%3)})
			h.clock.Pass(3 * time.Hour)
		}
	}
	day := func(text string) json.RawMessage { return document.FromText(text) }
	for _, filters := range [][]Filter{
		nil, {{Index: "by_day"}}, {Equal("by_day", "2026-03-02")}, {Equal("by_day", "2026-03-02T23:00:00-02:00")}, {Equal("by_day", "2030-01-01")},
		{{Index: "by_day", From: day("2026-03-02")}}, {{Index: "by_day", To: day("2026-03-03")}}, {{Index: "by_day", From: day("2026-03-02"), To: day("2026-03-04")}},
		{{}, {Index: "by_day", From: day("2026-03-02"), To: day("2026-03-04")}}, {{}, Equal("by_day", "2026-03-05")}, {{Index: "by_day", From: day("2026-03-02")}, {Index: "by_day", To: day("2026-03-04")}},
	} {
		for _, reverse := range []bool{false, true} {
			q := Query{Filters: filters, Reverse: reverse, Limit: 7}
			want := one.listed("entry", q)
			require.Equal(t, want, other.listed("entry", q), "%v", q)
			var found []string
			require.NoError(t, other.Do(ctx, "a", engine.WAL, func(tx *Tx) error {
				by := Filter{}
				if len(filters) > 0 {
					by = filters[0]
				}
				list, _, err := tx.Find("entry", by, 100)
				for _, d := range list {
					found = append(found, d.ID)
				}
				return err
			}))
			if len(filters) == 1 && !reverse {
				require.Equal(t, want, found)
			}
		}
	}
	_, err := other.List(ctx, "a", "entry", Query{Filters: []Filter{{Index: "by_day", Equal: []json.RawMessage{json.RawMessage("1")}}}})
	refused(t, err, CodeInvalidArgument, "filters")
	for _, c := range []*Collection{one.collections["entry"], other.collections["entry"]} {
		for _, i := range c.Types()[0].Indexes {
			require.Equal(t, c.AppendOnly, i.Keys, "which has no rows")
		}
	}
}
