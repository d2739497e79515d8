package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/kvtest"
)

func value(text string) json.RawMessage { return json.RawMessage(text) }

// tasks makes tasks with titles, and returns their ids by these.
func (h *host) tasks(list ...object) map[string]string {
	ids := map[string]string{}
	for _, o := range list {
		ids[o["title"].(string)] = h.create("task", aTask.with(o)).ID
	}
	return ids
}

// titles are those of the tasks of a list.
func (h *host) titles(q Query) string {
	var list []string
	for _, id := range h.listed("task", q) {
		d, err := h.Get(ctx, "a", "task", id)
		require.NoError(h.t, err)
		list = append(list, of(h.t, d)["title"].(string))
	}
	return strings.Join(list, "")
}

func TestListsAreInOrderOfCreation(t *testing.T) {
	h := newHost(t)
	ids := h.tasks(object{"title": "c"}, object{"title": "a"}, object{"title": "d", "status": "done"}, object{"title": "b"})
	require.Equal(t, "cadb", h.titles(Query{}))
	require.Equal(t, "bdac", h.titles(Query{Reverse: true, Limit: 1}))
	open := Query{Filters: []Filter{{Index: "open"}}}
	require.Equal(t, "cab", h.titles(open))
	_, err := h.update("task", ids["c"], object{"priority": 9})
	require.NoError(t, err)
	require.Equal(t, "cab", h.titles(open), "a change leaves a record where it is")
	_, err = h.Transition(ctx, "a", "task", ids["a"], "done", nil, UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "cb", h.titles(open))
	require.Equal(t, "ad", h.titles(Query{Filters: []Filter{Equal("by_status", "done")}}))
	require.Equal(t, "adbc", h.titles(Query{Filters: []Filter{{Index: "by_priority"}}}), "where they have the same value")
}

func TestFiltersAreAnded(t *testing.T) {
	h := newHost(t)
	h.tasks(object{"title": "a", "owner": "user:ann", "labels": []string{"x", "y"}, "priority": 1, "due": "2026-03-02T23:59:59Z"},
		object{"title": "b", "owner": "user:bob", "labels": []string{"y"}, "priority": 2, "due": "2026-03-03T00:00:00Z"},
		object{"title": "c", "owner": "user:ann", "labels": []string{}, "priority": 3, "status": "doing", "due": "2026-03-02T01:00:00.5+02:00"},
		object{"title": "d", "owner": "user:ann", "labels": []string{"y", "z"}, "priority": 9})
	for _, c := range []struct {
		want    string
		filters []Filter
	}{
		{"abcd", nil},
		{"cad", []Filter{Equal("by_owner", "user:ann")}},
		{"ad", []Filter{Equal("by_owner", "user:ann", "open")}},
		{"ad", []Filter{Equal("by_owner", "user:ann"), Equal("by_label", "y")}},
		{"ad", []Filter{Equal("by_label", "y"), Equal("by_owner", "user:ann")}},
		{"", []Filter{Equal("by_label", "y"), Equal("by_owner", "user:ann"), Equal("by_status", "doing")}},
		{"", []Filter{Equal("by_owner", "user:an")}},
		{"abd", []Filter{{Index: "by_label"}}},
		{"bd", []Filter{{Index: "by_label", From: value(`"y"`)}, {Index: "by_priority", From: value("2")}}},
		{"bc", []Filter{{Index: "by_priority", From: value("1.5"), To: value("9")}}},
		{"c", []Filter{{Index: "by_due", To: value(`"2026-03-02T00:00:00Z"`)}}},
		{"cab", []Filter{{Index: "by_due"}}},
		{"ca", []Filter{{Index: "by_due", From: value(`"2026-03-01T23:00:00Z"`), To: value(`"2026-03-03T00:00:00Z"`)}}},
		{"a", []Filter{Equal("by_day", "2026-03-02")}},
		{"b", []Filter{Equal("by_day", "2026-03-03")}},
		{"ca", []Filter{Equal("by_owner_due", "user:ann")}},
		{"c", []Filter{{Index: "by_owner_due", Equal: []json.RawMessage{value(`"user:ann"`)}, To: value(`"2026-03-02T00:00:00Z"`)}}},
		{"a", []Filter{{Index: "by_day", Equal: []json.RawMessage{value(`"2026-03-03T01:00:00+02:00"`)}}}},
	} {
		require.Equal(t, c.want, h.titles(Query{Filters: c.filters, Limit: 1}), "%+v", c.filters)
		backwards := []byte(c.want)
		slices.Reverse(backwards)
		if len(c.filters) != 1 || c.filters[0].Index != "by_label" { // whose records are listed at their first term
			require.Equal(t, string(backwards), h.titles(Query{Filters: c.filters, Limit: 2, Reverse: true}))
		}
	}
	for _, bad := range []Filter{
		{Index: "by_color"}, {Index: ""}, {Index: "open", Equal: []json.RawMessage{value("1")}}, Equal("by_owner", "a", "b", "c"),
		{Index: "by_status", Equal: []json.RawMessage{value("{}")}}, {Index: "by_status", Equal: []json.RawMessage{value("null")}}, {Index: "by_status", Equal: []json.RawMessage{value("x")}},
		{Index: "by_due", From: value(`"soon"`)}, {Index: "by_due", To: value("7")}, {Index: "by_status", Equal: []json.RawMessage{value("1")}, From: value("2")}, {Index: "by_status", Equal: []json.RawMessage{value("1")}, To: value("2")}, {Index: "by_day", From: value("true")},
	} {
		if bad.Index == "" {
			bad.Equal = []json.RawMessage{value("1")}
		}
		for _, tenant := range []string{"a", "stranger"} {
			for _, cursor := range []string{"", "x"} {
				_, err := h.List(ctx, tenant, "task", Query{Filters: []Filter{bad}, Cursor: cursor})
				refused(t, err, CodeInvalidArgument, "filters")
			}
		}
	}
}

func TestACursorIsOfItsList(t *testing.T) {
	h := newHost(t)
	for i := range 5 {
		h.tasks(object{"title": fmt.Sprint(i), "labels": []string{"x"}})
	}
	h.create("worker", object{"worker_id": "w"})
	q := Query{Filters: []Filter{Equal("by_owner", "user:ann"), Equal("by_label", "x")}, Limit: 2}
	page, err := h.List(ctx, "a", "task", q)
	require.NoError(t, err)
	require.Len(t, page.Docs, 2)
	q.Cursor = page.Next
	for name, change := range map[string]func(*Query){
		"order":          func(q *Query) { q.Reverse = true },
		"in force":       func(q *Query) { q.All = true },
		"another filter": func(q *Query) { q.Filters = []Filter{q.Filters[0], Equal("by_label", "y")} },
		"one filter":     func(q *Query) { q.Filters = q.Filters[:1] },
		"no filter":      func(q *Query) { q.Filters = nil },
		"more filters":   func(q *Query) { q.Filters = append(slices.Clone(q.Filters), Equal("by_status", "open")) },
		"made up":        func(q *Query) { q.Cursor = "AAAAAAAAAAAAAAAAAAAAAAAAAA" },
		"no cursor":      func(q *Query) { q.Cursor = "%" },
	} {
		other := q
		change(&other)
		_, err := h.List(ctx, "a", "task", other)
		require.Error(t, err, name)
		refused(t, err, CodeInvalidCursor, "cursor")
	}
	_, err = h.List(ctx, "a", "worker", Query{Cursor: q.Cursor})
	refused(t, err, CodeInvalidCursor, "cursor")
	_, err = h.List(ctx, "stranger", "task", q)
	refused(t, err, CodeInvalidCursor, "cursor")
	q.Limit = 1
	page, err = h.List(ctx, "a", "task", q)
	require.NoError(t, err, "of pages of another size")
	require.Len(t, page.Docs, 1)
	_, err = h.List(ctx, "a", "task", Query{Filters: make([]Filter, maxFilters+1)})
	refused(t, err, CodeInvalidArgument, "filters")
	_, err = h.List(ctx, "a", "task", Query{Filters: make([]Filter, maxFilters)})
	require.NoError(t, err)
	for _, limit := range []int{-1, kv.MaxPage + 1} {
		_, err = h.List(ctx, "a", "task", Query{Limit: limit})
		refused(t, err, CodeInvalidArgument, "limit")
	}
	for range DefaultPage {
		h.create("task", aTask)
	}
	page, err = h.List(ctx, "a", "task", Query{})
	require.NoError(t, err)
	require.Len(t, page.Docs, DefaultPage)
}

func TestListsLeaveOutWhatIsNotInForce(t *testing.T) {
	h := newHost(t)
	h.tasks(object{"title": "a"},
		object{"title": "b", "window": object{"from": "2026-03-01T12:00:02Z"}},
		object{"title": "c", "window": object{"until": "2026-03-01T12:00:02Z"}},
		object{"title": "d", "window": object{"from": nil, "until": nil}},
		object{"title": "e", "revoked": true}, object{"title": "f", "revoked": false})
	q := Query{Filters: []Filter{{Index: "open"}}, Limit: 1}
	all := Query{Filters: []Filter{{Index: "open"}}, All: true}
	require.Equal(t, "acdf", h.titles(q))
	h.clock.Pass(2*time.Second - time.Millisecond)
	require.Equal(t, "acdf", h.titles(q))
	h.clock.Pass(time.Millisecond)
	require.Equal(t, "abdf", h.titles(q), "at the moment")
	require.Equal(t, "abcdef", h.titles(all))
	ids, err := h.Lookup(ctx, "a", "task:open")
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(ids), "tsk-"))
	c, err := h.Collection("task")
	require.NoError(t, err)
	require.False(t, c.InForce(value(`{"revoked":true}`), time.Now()))
}

func TestDailyIDsAreCountedWithinTheDay(t *testing.T) {
	h := newHost(t)
	entry := object{"what": "x"}
	require.Equal(t, "ent-20260301-000001", h.create("entry", entry).ID)
	d := h.create("entry", entry)
	require.Equal(t, object{"entry_id": "ent-20260301-000002", "what": "x", "timestamp": "2026-03-01T12:00:00Z"}, of(t, d))
	_, err := h.Create(ctx, "a", "entry", []byte(`{"what":7}`), WriteOptions{})
	refused(t, err, CodeValidation, "what")
	require.ErrorIs(t, h.Do(ctx, "a", engine.WAL, func(tx *Tx) error {
		d, err := tx.Create("entry", entry.json())
		require.NoError(t, err)
		require.Equal(t, "ent-20260301-000003", d.ID)
		return errChanged
	}), errChanged)
	require.Equal(t, "ent-20260301-000003", h.create("entry", entry).ID, "what was refused has no number")
	gone, err := h.Delete(ctx, "a", "entry", "ent-20260301-000003", UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "ent-20260301-000004", h.create("entry", entry).ID, "and a number is given once")
	require.Equal(t, "ent-20260301-000003", gone.ID)
	n, err := h.Import(ctx, "a", "entry", strings.NewReader(`{"entry_id":"ent-20260301-999998","what":"x","timestamp":"2026-03-01T12:00:00Z"}`))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	before := h.revision("entry")
	_, err = h.Import(ctx, "a", "entry", strings.NewReader(`{"entry_id":"ent-20260301-999998","what":"y","timestamp":"2026-03-01T12:00:00Z"}`))
	require.NoError(t, err)
	require.Equal(t, before+1, h.revision("entry"), "the counter is where it was")
	for _, want := range []string{"ent-20260301-999999", "ent-20260301-1000000", "ent-20260301-1000001"} {
		require.Equal(t, want, h.create("entry", entry).ID)
	}
	want := []string{"ent-20260301-000001", "ent-20260301-000002", "ent-20260301-000004", "ent-20260301-999998", "ent-20260301-999999", "ent-20260301-1000000", "ent-20260301-1000001"}
	require.Equal(t, want, h.listed("entry", Query{Limit: 2}))
	view, err := h.View("a")
	require.NoError(t, err)
	var byKey []string
	for d, err := range view.All(ctx, "entry") {
		require.NoError(t, err)
		byKey = append(byKey, d.ID)
	}
	require.NoError(t, view.Close())
	require.Equal(t, want, byKey, "rows are in order of the numbers")
	h.clock.Set(12 * time.Hour)
	require.Equal(t, "ent-20260302-000001", h.create("entry", entry).ID)
	for key, want := range map[string]string{"entry:counter:2026-03-01": "1000001", "entry:counter:2026-03-02": "1", "entry:counter:2026-03-03": "0",
		"entry:by_day:2026-03-02": `["ent-20260302-000001"]`, "entry:by_day:2026-03-03": `[]`} {
		got, err := h.Lookup(ctx, "a", key)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	none, err := h.Lookup(ctx, "stranger", "entry:counter:2026-03-01")
	require.NoError(t, err)
	require.Equal(t, "0", string(none))
	_, err = h.Lookup(ctx, "a", "entry:counter:today")
	refused(t, err, CodeInvalidKey, "key")
	h.clock.Pass(721 * time.Hour)
	_, err = h.Get(ctx, "a", "entry", "ent-20260302-000001")
	require.ErrorIs(t, err, ErrNotFound, "they expire")
}

var errChanged = fmt.Errorf("changed my mind")

func TestLiteralKeys(t *testing.T) {
	h := newHost(t)
	d := h.create("task", aTask)
	other := h.create("task", aTask.with(object{"owner": "agent:a.b:c"}))
	h.create("worker", object{"worker_id": "ann", "boss": "agent:a.b"})
	for key, want := range map[string]string{
		"task:user:ann:" + d.ID:        string(d.JSON),
		"task:agent:a.b:c:" + other.ID: string(other.JSON),
		"task:id:" + d.ID:              string(d.JSON),
		"task:open":                    fmt.Sprintf(`["%s","%s"]`, d.ID, other.ID),
		"task:by_owner:agent:a.b:c":    fmt.Sprintf(`["%s"]`, other.ID),
		"task:by_owner:nobody":         `[]`,
		"worker:by_boss:agent:a.b":     `["ann"]`,
		"worker:ann":                   `{"boss":"agent:a.b","worker_id":"ann"}`,
	} {
		got, err := h.Lookup(ctx, "a", key)
		require.NoError(t, err, key)
		require.Equal(t, want, string(got))
	}
	for key, code := range map[string]Code{
		"": CodeInvalidKey, "foo:x": CodeInvalidKey, "task": CodeInvalidKey, "task:": CodeInvalidKey, "tasks:open": CodeInvalidKey, "task.v2:open": CodeInvalidKey,
		"task:open:x": CodeNotFound, "task:user:bob:" + d.ID: CodeNotFound, "task:id:" + d.ID + "x": CodeNotFound, "task:id:": CodeInvalidKey, "worker:a\x00": CodeNotFound, "worker:\x00counter:1": CodeNotFound,
	} {
		_, err := h.Lookup(ctx, "a", key)
		require.Error(t, err, "%q", key)
		refused(t, err, code, "key")
	}
	_, err := h.Lookup(ctx, "stranger", "task:id:"+d.ID)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = h.Lookup(ctx, "", "task:open")
	refused(t, err, CodeInvalidArgument, "tenant")
	_, err = h.Create(ctx, "a", "task", aTask.with(object{"owner": "by_owner:x"}).json(), WriteOptions{})
	refused(t, err, CodeReserved, "owner")
}

func TestWatchesTellWhatHappens(t *testing.T) {
	h := newHost(t)
	first := h.create("worker", object{"worker_id": "a"})
	h.create("worker", object{"worker_id": "ab"})
	var got []string
	watch := func(collection string, o WatchOptions, n int) {
		got = nil
		for e, err := range h.Watch(ctx, "a", collection, o) {
			require.NoError(t, err)
			got = append(got, fmt.Sprint(e.Kind, " ", e.Revision, " ", e.Doc.ID, " ", string(e.Doc.JSON)))
			if len(got) == n {
				break
			}
			if e.Kind == kv.EventSynced {
				_, err := h.update("worker", "a", object{"age": 1})
				require.NoError(t, err)
				_, err = h.Delete(ctx, "a", "worker", "a", UpdateOptions{})
				require.NoError(t, err)
			}
		}
	}
	watch("worker", WatchOptions{ID: "a"}, 4)
	require.Equal(t, []string{fmt.Sprint("put 1 a ", string(first.JSON)), "synced 2  ", `put 3 a {"age":1,"worker_id":"a"}`, "delete 4 a "}, got)
	watch("worker", WatchOptions{Start: kv.FromRevision, After: 3}, 1)
	require.Equal(t, []string{"delete 4 a "}, got)
	h.create("entry", object{"what": "x"})
	watch("entry", WatchOptions{Start: kv.FromRevision}, 1)
	require.Contains(t, got[0], "put 1 ent-20260301-000001", "and not of the counter")
	for _, err := range h.Watch(ctx, "a", "worker", WatchOptions{ID: "a:b"}) {
		require.ErrorIs(t, err, ErrNotFound)
	}
	for _, err := range h.Watch(ctx, "a", "nothing", WatchOptions{}) {
		require.ErrorIs(t, err, ErrUnknownCollection)
	}
}

func TestHistoryHasTheRevisions(t *testing.T) {
	h := newHost(t)
	d := h.create("task", aTask)
	_, err := h.update("task", d.ID, object{"title": "two"})
	require.NoError(t, err)
	_, err = h.Delete(ctx, "a", "task", d.ID, UpdateOptions{})
	require.NoError(t, err)
	list, err := h.History(ctx, "a", "task", d.ID)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, d, list[0])
	require.Equal(t, "two", of(t, list[1])["title"])
	require.Nil(t, list[2].JSON)
	require.Equal(t, uint64(3), list[2].Revision)
	h.create("entry", object{"what": "x"})
	for _, id := range []string{"tsk-20260301-000000", "x", "", "\x00counter"} {
		for _, collection := range []string{"task", "entry"} {
			_, err = h.History(ctx, "a", collection, id)
			require.ErrorIs(t, err, ErrNotFound)
		}
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = h.History(done, "a", "task", d.ID)
	require.ErrorIs(t, err, context.Canceled)
	_, err = h.Get(done, "a", "task", d.ID)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheLogOfACollectionIsFollowed(t *testing.T) {
	h := newHost(t)
	h.create("entry", object{"what": "x"})
	h.create("entry", object{"what": "y"})
	_, err := h.Delete(ctx, "a", "entry", "ent-20260301-000001", UpdateOptions{})
	require.NoError(t, err)
	view, err := h.View("a")
	require.NoError(t, err)
	defer func() { require.NoError(t, view.Close()) }()
	list, more, err := view.Changes(ctx, "entry", 1, 1)
	require.NoError(t, err)
	require.True(t, more)
	var got []string
	for _, c := range list {
		got = append(got, fmt.Sprint(c.Revision, c.ID, c.JSON != nil))
	}
	require.Equal(t, []string{"2ent-20260301-000002true"}, got)
	list, more, err = view.Changes(ctx, "entry", 2, 3)
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, list, 1)
	require.Nil(t, list[0].JSON)
	_, _, err = view.Changes(ctx, "entry", 9, 3)
	require.ErrorIs(t, err, ErrTrimmed)
	list, _, err = view.Changes(ctx, "task", 0, 3)
	require.NoError(t, err)
	require.Empty(t, list, "the tenant has none")
	space, err := h.Space(ctx, "a", "entry")
	require.NoError(t, err)
	for r, err := range space.All(ctx, nil) {
		require.NoError(t, err)
		d, err := h.Doc("entry", r)
		require.NoError(t, err)
		require.Equal(t, "ent-20260301-000002", d.ID)
	}
}

func TestExportsAndImportsKeepWhatThereIs(t *testing.T) {
	h := newHost(t)
	h.tasks(object{"title": "c"}, object{"title": "a", "status": "done"}, object{"title": "b", "revoked": true, "x": object{"y": 1}})
	var lines, again strings.Builder
	require.NoError(t, h.Export(ctx, "a", "task", &lines))
	require.Equal(t, 3, strings.Count(lines.String(), "\n"))
	n, err := h.Import(ctx, "b", "task", strings.NewReader(lines.String()))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.NoError(t, h.Export(ctx, "b", "task", &again))
	require.Equal(t, lines.String(), again.String(), "in the same order")
	n, err = h.Import(ctx, "b", "task", strings.NewReader(lines.String()))
	require.NoError(t, err, "what is there is replaced")
	require.Equal(t, 3, n)
	again.Reset()
	require.NoError(t, h.Export(ctx, "b", "task", &again))
	require.Equal(t, lines.String(), again.String())
	good := strings.SplitAfter(lines.String(), "\n")[0]
	for bad, field := range map[string]string{
		"{}": "line 2: task_id",
		"x":  "line 2: doc",
		"":   "line 2: doc",
		strings.Replace(good, `"title":"c"`, `"title":""`, 1): "line 2: title",
		strings.Replace(good, "tsk-", "tsk_", 1):              "line 2: task_id",
		text(3 * MaxDocument):                                 "line 2",
	} {
		_, err = h.Import(ctx, "c", "task", strings.NewReader(good+bad+"\n"))
		code := CodeValidation
		if field == "line 2" {
			code = CodeTooLarge
		}
		refused(t, err, code, field)
	}
	_, err = h.Get(ctx, "c", "task", "x")
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, h.Export(ctx, "nobody", "task", &again))
}

func TestADeclarationIsToldAsItIsGiven(t *testing.T) {
	h := newHost(t)
	want, err := document.Canonical([]byte(taskJSON))
	require.NoError(t, err)
	task, err := h.Collection("task")
	require.NoError(t, err)
	require.Equal(t, string(want), string(task.Declaration()))
	archive, err := h.Collection("task.archive")
	require.NoError(t, err)
	again, err := Parse(archive.Declaration())
	require.NoError(t, err)
	require.Equal(t, "task.archive", again.Name)
	require.Nil(t, again.Archive)
	require.Empty(t, again.Keys)
	require.Equal(t, len(task.Indexes), len(again.Indexes))
}

func TestWhatIsDoneIsPutAside(t *testing.T) {
	h := newHost(t)
	ids := h.tasks(object{"title": "open"}, object{"title": "old"}, object{"title": "new"})
	_, err := h.Transition(ctx, "a", "task", ids["old"], "done", nil, UpdateOptions{})
	require.NoError(t, err)
	h.clock.Pass(24*time.Hour - time.Millisecond)
	_, err = h.Transition(ctx, "a", "task", ids["new"], "done", nil, UpdateOptions{})
	require.NoError(t, err)
	n, err := h.PutAside(ctx, "a", "task")
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = h.kv.Space("a", kv.SystemRecord, "task.archive")
	require.ErrorIs(t, err, kv.ErrSpaceNotFound, "nothing is made for nothing")
	h.clock.Pass(time.Millisecond)
	old, err := h.Get(ctx, "a", "task", ids["old"])
	require.NoError(t, err)
	n, err = h.PutAside(ctx, "a", "task")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "opennew", h.titles(Query{}))
	_, err = h.Get(ctx, "a", "task", ids["old"])
	require.ErrorIs(t, err, ErrNotFound)
	aside, err := h.Get(ctx, "a", "task.archive", ids["old"])
	require.NoError(t, err)
	require.Equal(t, string(old.JSON), string(aside.JSON))
	require.Equal(t, []string{ids["old"]}, h.listed("task.archive", Query{Filters: []Filter{Equal("by_status", "done")}}))
	for _, o := range []ImportOptions{{}, {Keep: true}, {Dry: true}} { // what is in the archive is there
		n, err := h.ImportWith(ctx, "a", "task", strings.NewReader(string(old.JSON)+"\n"), o)
		require.NoError(t, err)
		require.Equal(t, Imported{Same: 1}, n)
	}
	for name, write := range map[string]func() error{
		"create": func() error { _, err := h.Create(ctx, "a", "task.archive", aTask.json(), WriteOptions{}); return err },
		"update": func() error { _, err := h.update("task.archive", ids["old"], object{"title": "x"}); return err },
		"delete": func() error { _, err := h.Delete(ctx, "a", "task.archive", ids["old"], UpdateOptions{}); return err },
		"import": func() error { _, err := h.Import(ctx, "a", "task.archive", strings.NewReader("{}")); return err },
	} {
		require.Error(t, write(), name)
		refused(t, write(), CodeImmutable, "collection")
	}
	_, err = h.PutAside(ctx, "stranger", "task")
	require.NoError(t, err)
	h.create("worker", object{"worker_id": "w"})
	_, err = h.PutAside(ctx, "a", "worker")
	refused(t, err, CodeInvalidArgument, "collection")
}

// A check reads other records in the batch, and refuses.
func TestAChecksRefusalChangesNothing(t *testing.T) {
	h := newHost(t)
	h.collections["worker"].Check = func(tx *Tx, old, changed Doc) error {
		if changed.JSON == nil {
			left, _, err := tx.Find("worker", Equal("by_boss", old.ID), 1)
			if err == nil && len(left) > 0 {
				err = Precondition("worker_id", "others have this boss")
			}
			return err
		}
		boss, ok := of(t, changed)["boss"].(string)
		if !ok {
			return nil
		}
		_, err := tx.Get("worker", boss)
		return err
	}
	_, err := h.Create(ctx, "a", "worker", object{"worker_id": "ann", "boss": "bob"}.json(), WriteOptions{})
	refused(t, err, CodeNotFound, "id")
	h.create("worker", object{"worker_id": "bob"})
	h.create("worker", object{"worker_id": "ann", "boss": "bob"})
	_, err = h.Delete(ctx, "a", "worker", "bob", UpdateOptions{})
	refused(t, err, CodePrecondition, "worker_id")
	_, err = h.update("worker", "ann", object{"boss": "eve"})
	refused(t, err, CodeNotFound, "id")
	require.Equal(t, []string{"bob", "ann"}, h.listed("worker", Query{}))
	_, err = h.Delete(ctx, "a", "worker", "ann", UpdateOptions{})
	require.NoError(t, err)
	_, err = h.Delete(ctx, "a", "worker", "bob", UpdateOptions{})
	require.NoError(t, err)
}

// What is refused within a unit of work that goes on has no number, and no other effect.
func TestARefusalInAUnitOfWorkThatGoesOnChangesNothing(t *testing.T) {
	h := newHost(t)
	h.collections["entry"].Check = func(tx *Tx, _, changed Doc) error {
		if strings.Contains(string(changed.JSON), "refuse") {
			return Precondition("what", "no")
		}
		if strings.Contains(string(changed.JSON), "nested") {
			_, err := tx.Create("entry", []byte(`{"what":"inner"}`))
			return err
		}
		return nil
	}
	_, err := h.Space(ctx, "a", "entry")
	require.NoError(t, err)
	require.NoError(t, h.Do(ctx, "a", engine.WAL, func(tx *Tx) error {
		_, err := tx.Create("entry", []byte(`{"what":"refuse"}`))
		refused(t, err, CodePrecondition, "what")
		revision, err := tx.Revision("entry")
		require.NoError(t, err)
		require.Zero(t, revision)
		d, err := tx.Create("entry", []byte(`{"what":"x"}`))
		require.Equal(t, "ent-20260301-000001", d.ID)
		return err
	}))
	_, err = h.Create(ctx, "a", "entry", []byte(`{"what":"nested"}`), WriteOptions{})
	require.ErrorContains(t, err, "has made another")
	require.Equal(t, []string{"ent-20260301-000001"}, h.listed("entry", Query{}))
}

// Wherever the process dies, the numbers of a day go on behind the records that there
// are: none is given twice, none is left out.
func TestNumbersGoOnWhereverTheProcessDies(t *testing.T) {
	for _, fault := range []faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter} {
		for at := 1; ; at++ {
			inner, clock := mem.New(), kvtest.New()
			h, end := open(t, inner, clock)
			h.create("entry", object{"what": "first"})
			end()
			f := faulty.New(inner, faulty.Options{At: at, Fault: fault})
			h, _ = open(t, f, clock)
			made := 1
			for range 3 {
				if _, err := h.Create(ctx, "a", "entry", []byte(`{"what":"x"}`), WriteOptions{}); err == nil {
					made++
				}
			}
			require.NoError(t, h.kv.Close())
			h, end = open(t, f.Restart(), clock)
			ids := h.listed("entry", Query{})
			require.GreaterOrEqual(t, len(ids), made)
			for i, id := range ids {
				require.Equal(t, fmt.Sprintf("ent-20260301-%06d", i+1), id)
			}
			n, err := h.Lookup(ctx, "a", "entry:counter:2026-03-01")
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(len(ids)), string(n))
			require.Equal(t, fmt.Sprintf("ent-20260301-%06d", len(ids)+1), h.create("entry", object{"what": "next"}).ID)
			end()
			if !f.Tripped() {
				require.Greater(t, at, 3)
				break
			}
		}
	}
}

func TestManyRecordsArePutAsideInSeveralBatches(t *testing.T) {
	h := newHost(t)
	for range 2*archiveBatch + 1 {
		h.create("task", aTask.with(object{"status": "done"}))
	}
	h.clock.Pass(24 * time.Hour)
	n, err := h.PutAside(ctx, "a", "task")
	require.NoError(t, err)
	require.Equal(t, 2*archiveBatch+1, n)
	require.Empty(t, h.listed("task", Query{All: true}))
	require.Len(t, h.listed("task.archive", Query{Limit: 1000}), n)
}

func TestALiteralKeyStandsForSoManyIDsAtMost(t *testing.T) {
	h := newHost(t)
	var lines bytes.Buffer
	for i := range MaxIDs {
		fmt.Fprintf(&lines, `{"worker_id":"w%d","boss":"bob"}`+"\n", i)
	}
	n, err := h.Import(ctx, "a", "worker", &lines)
	require.NoError(t, err)
	require.Equal(t, MaxIDs, n)
	ids, err := h.Lookup(ctx, "a", "worker:by_boss:bob")
	require.NoError(t, err)
	require.Equal(t, MaxIDs-1, bytes.Count(ids, []byte(",")))
	h.create("worker", object{"worker_id": "one more", "boss": "bob"}.with(object{"worker_id": "one_more"}))
	_, err = h.Lookup(ctx, "a", "worker:by_boss:bob")
	refused(t, err, CodeTooLarge, "key")
}

func TestAViewAnswersForWhatATenantHasNot(t *testing.T) {
	h := newHost(t)
	d := h.create("worker", object{"worker_id": "ann"})
	view, err := h.View("a")
	require.NoError(t, err)
	defer func() { require.NoError(t, view.Close()) }()
	got, err := view.Get("worker", "ann")
	require.NoError(t, err)
	require.Equal(t, d, got)
	_, err = view.Get("task", "tsk-20260301-000000")
	require.ErrorIs(t, err, ErrNotFound)
	h.create("task", aTask)
	revision, err := view.Revision("task")
	require.NoError(t, err)
	require.Zero(t, revision, "it was made since")
	_, err = view.Revision("nothing")
	require.ErrorIs(t, err, ErrUnknownCollection)
	_, err = h.View("")
	refused(t, err, CodeInvalidArgument, "tenant")
}

// An import that is refused says how much of it is stored.
// An import says what was there: what is the same is not written again, and what is another
// stays where that is wanted.
func TestAnImportSaysWhatWasThere(t *testing.T) {
	h := newHost(t)
	h.tasks(object{"title": "a"}, object{"title": "b"}, object{"title": "c"})
	var lines strings.Builder
	require.NoError(t, h.Export(ctx, "a", "task", &lines))
	load := func(text string, o ImportOptions) Imported {
		n, err := h.ImportWith(ctx, "b", "task", strings.NewReader(text), o)
		require.NoError(t, err)
		return n
	}
	exported := func() string {
		var b strings.Builder
		require.NoError(t, h.Export(ctx, "b", "task", &b))
		return b.String()
	}
	require.Equal(t, Imported{Stored: 3}, load(lines.String(), ImportOptions{Dry: true}))
	_, err := h.kv.Space("b", kv.SystemRecord, "task")
	require.ErrorIs(t, err, kv.ErrSpaceNotFound, "not even a space is made")
	require.Equal(t, Imported{Stored: 3}, load(lines.String(), ImportOptions{Keep: true}))
	page, err := h.List(ctx, "b", "task", Query{})
	require.NoError(t, err)
	require.Equal(t, Imported{Same: 3}, load(lines.String(), ImportOptions{}))
	again, err := h.List(ctx, "b", "task", Query{})
	require.NoError(t, err)
	require.Equal(t, page, again, "it took no revision")

	other := strings.Replace(lines.String(), `"title":"b"`, `"title":"x"`, 1)
	id := page.Docs[1].ID
	for _, o := range []ImportOptions{{Keep: true, Dry: true}, {Keep: true}} {
		require.Equal(t, Imported{Same: 2, Kept: 1, IDs: []string{id}}, load(other, o))
		require.Equal(t, lines.String(), exported())
	}
	require.Equal(t, Imported{Stored: 1, Same: 2}, load(other, ImportOptions{Dry: true}))
	require.Equal(t, lines.String(), exported())
	require.Equal(t, Imported{Stored: 1, Same: 2}, load(other, ImportOptions{}))
	require.Equal(t, other, exported())
	_, err = h.ImportWith(ctx, "b", "task", strings.NewReader(lines.String()+"{}\n"), ImportOptions{Dry: true})
	refused(t, err, CodeValidation, "line 4: task_id")
	require.NotContains(t, err.Error(), "are stored")
}

func TestAnImportThatEndsEarlySaysWhatIsStored(t *testing.T) {
	h := newHost(t)
	var lines strings.Builder
	for i := range importLines + 5 {
		fmt.Fprintf(&lines, `{"worker_id":"w%d"}`+"\n", i)
	}
	n, err := h.Import(ctx, "a", "worker", strings.NewReader(lines.String()+"{}\n"))
	require.Equal(t, importLines, n)
	e := refused(t, err, CodeValidation, fmt.Sprintf("line %d: worker_id", importLines+6))
	require.Contains(t, e.Reason, fmt.Sprintf("; %d documents before it are stored", importLines))
	require.Len(t, h.listed("worker", Query{Limit: 1000}), importLines)
	broken := errors.New("the line is broken")
	n, err = h.Import(ctx, "b", "worker", io.MultiReader(strings.NewReader(lines.String()), iotest.ErrReader(broken)))
	require.Equal(t, importLines, n)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, fmt.Sprint(importLines, " documents are stored"))
}
