package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
)

// model is the tasks of a tenant as a map has them.
type model struct {
	records  map[string]*modelTask
	revision uint64
	now      time.Time
}

type modelTask struct {
	o                 object
	ordinal, revision uint64
	past              []string // what it was, "" where it was removed
}

var modelLegal = map[string][]string{"open": {"doing", "done"}, "doing": {"blocked", "done", "open"}, "blocked": {"doing"}}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func copied(o object) object {
	out := object{}
	if err := json.Unmarshal(o.json(), &out); err != nil {
		panic(err)
	}
	return out
}

// merged is RFC 7386 on objects.
func merged(doc, patch map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range doc {
		out[name] = value
	}
	for name, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, name)
		case map[string]any:
			inner, _ := out[name].(map[string]any)
			out[name] = merged(inner, v)
		default:
			out[name] = v
		}
	}
	return out
}

// update is what a patch does, and the code of its refusal.
func (m *model) update(id string, patch object, expected uint64) Code {
	r := m.records[id]
	switch {
	case r == nil:
		return CodeNotFound
	case expected != 0 && expected != r.revision:
		return CodeConflict
	}
	next := object(merged(r.o, copied(patch)))
	if bytes.Equal(next.json(), r.o.json()) {
		return ""
	}
	for _, f := range []string{"task_id", "created_at", "created_by", "updated_at", "done_at"} {
		if fmt.Sprint(next[f]) != fmt.Sprint(r.o[f]) {
			return CodeImmutable
		}
	}
	from, _ := r.o["status"].(string)
	to, _ := next["status"].(string)
	if from != to && !slices.Contains(modelLegal[from], to) {
		return CodeIllegalTransition
	}
	if from == "blocked" && to != "blocked" {
		delete(next, "blocked_reason")
	}
	if reason, _ := next["blocked_reason"].(string); to == "blocked" && reason == "" {
		return CodeValidation
	}
	if title, _ := next["title"].(string); title == "" {
		return CodeValidation
	}
	if to == "done" && next["done_at"] == nil {
		next["done_at"] = stamp(m.now)
	}
	before, err := time.Parse(time.RFC3339Nano, r.o["updated_at"].(string))
	if err != nil {
		panic(err)
	}
	at := m.now
	if !at.After(before) {
		at = before.Add(time.Millisecond)
	}
	next["updated_at"] = stamp(at)
	m.revision++
	r.o, r.revision = next, m.revision
	r.past = append(r.past, string(next.json()))
	return ""
}

// list are the ids that a list has.
func (m *model) list(keep func(object) bool) []string {
	var found []*modelTask
	for _, r := range m.records {
		if r.o != nil && keep(r.o) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *modelTask) int { return cmp.Compare(a.ordinal, b.ordinal) })
	var ids []string
	for _, r := range found {
		ids = append(ids, r.o["task_id"].(string))
	}
	return ids
}

// force is whether a task is in force.
func (m *model) force(o object) bool {
	if o["revoked"] == true {
		return false
	}
	window, _ := o["window"].(map[string]any)
	at := func(name string) (time.Time, bool) {
		text, ok := window[name].(string)
		t, _ := time.Parse(time.RFC3339Nano, text)
		return t, ok
	}
	if from, ok := at("from"); ok && m.now.Before(from) {
		return false
	}
	until, ok := at("until")
	return !ok || m.now.Before(until)
}

func TestRecordsAgreeWithAMap(t *testing.T) {
	enginetest.Check(t, 150, func(t *rapid.T) {
		db := mem.New()
		h, end := open(t, db, kvtest.New())
		defer func() { end(); require.NoError(t, db.Close()) }()
		m := &model{records: map[string]*modelTask{}, now: h.clock.Now()}
		start := m.now
		ids := make([]string, 6)
		for i := range ids {
			ids[i] = fmt.Sprintf("tsk-20260301-00000%d", i)
		}
		id := rapid.SampledFrom(ids)
		status := rapid.SampledFrom([]string{"open", "doing", "blocked", "done"})
		moment := rapid.Map(rapid.IntRange(-1, 8), func(n int) any { return stamp(start.Add(time.Duration(n) * time.Second)) })
		field := map[string]*rapid.Generator[any]{
			"title":          rapid.Map(rapid.SampledFrom([]string{"", "a", "b", "ü\x00"}), func(s string) any { return s }),
			"owner":          rapid.Map(rapid.SampledFrom([]string{"user:ann", "user:bob", "agent:x:y"}), func(s string) any { return s }),
			"status":         rapid.Map(status, func(s string) any { return s }),
			"labels":         rapid.Map(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "x\x00"}), 0, 3, rapid.ID), func(s []string) any { return s }),
			"window":         rapid.Map(moment, func(at any) any { return object{"until": at} }),
			"blocked_reason": rapid.Map(rapid.SampledFrom([]string{"", "why"}), func(s string) any { return s }),
			"revoked":        rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			"extra":          rapid.SampledFrom([]any{nil, 1, "x", object{"a": object{"b": 1}}, object{"a": nil}, []any{1, object{}}}),
			"created_by":     rapid.Just[any]("user:eve"),
			"updated_at":     moment,
		}
		drawn := func(t *rapid.T, names ...string) object {
			o := object{}
			for _, name := range names {
				if rapid.IntRange(0, 2).Draw(t, name+"?") == 0 {
					o[name] = field[name].Draw(t, name)
				}
			}
			return o
		}
		check := func(t *rapid.T, err error, want Code) {
			if want == "" {
				require.NoError(t, err)
				return
			}
			var e *Error
			require.True(t, errors.As(err, &e), "%v", err)
			require.Equal(t, want, e.Code, err.Error())
		}
		expected := func(t *rapid.T, id string) uint64 {
			switch rapid.IntRange(0, 2).Draw(t, "expected") {
			case 0:
				return m.revision + 1
			case 1:
				if r := m.records[id]; r != nil {
					return r.revision
				}
			}
			return 0
		}
		live := func(id string) *modelTask {
			if r := m.records[id]; r != nil && r.o != nil {
				return r
			}
			return nil
		}
		past := map[string][]string{}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				id := id.Draw(t, "id")
				o := object{"task_id": id, "title": "a", "owner": "user:ann"}.with(drawn(t, "title", "owner", "status", "labels", "window", "blocked_reason", "revoked", "extra"))
				next := copied(object{"status": "open", "priority": 5, "created_at": stamp(m.now), "updated_at": stamp(m.now)}.with(o))
				var want Code
				switch {
				case next["title"] == "", next["status"] == "blocked" && (next["blocked_reason"] == nil || next["blocked_reason"] == ""):
					want = CodeValidation
				case live(id) != nil:
					want = CodeAlreadyExists
				}
				if next["status"] == "done" {
					next["done_at"] = stamp(m.now)
				}
				_, err := h.Create(ctx, "a", "task", o.json(), WriteOptions{Durability: engine.WAL})
				check(t, err, want)
				if want == "" {
					m.revision++
					m.records[id] = &modelTask{o: next, ordinal: m.revision, revision: m.revision}
					past[id] = append(past[id], string(next.json()))
				}
			},
			"update": func(t *rapid.T) {
				id := id.Draw(t, "id")
				patch := drawn(t, "title", "owner", "status", "labels", "window", "blocked_reason", "revoked", "extra", "created_by", "updated_at")
				revision := expected(t, id)
				before := m.revision
				want := m.update(id, patch, revision)
				o := UpdateOptions{Durability: engine.WAL, Revision: revision}
				var err error
				switch to, moves := patch["status"].(string); {
				case moves && rapid.Bool().Draw(t, "transition"):
					delete(patch, "status")
					_, err = h.Transition(ctx, "a", "task", id, to, patch.json(), o)
				case rapid.Bool().Draw(t, "in a unit of work"):
					err = h.Do(ctx, "a", engine.WAL, func(tx *Tx) error {
						_, err := tx.Update("task", id, patch.json(), o)
						return err
					})
				default:
					_, err = h.Update(ctx, "a", "task", id, patch.json(), o)
				}
				check(t, err, want)
				if m.revision != before {
					past[id] = append(past[id], string(m.records[id].o.json()))
				}
			},
			"delete": func(t *rapid.T) {
				id := id.Draw(t, "id")
				revision := expected(t, id)
				var want Code
				switch r := live(id); {
				case r == nil:
					want = CodeNotFound
				case revision != 0 && revision != r.revision:
					want = CodeConflict
				default:
					delete(m.records, id)
					m.revision++
					past[id] = append(past[id], "")
				}
				_, err := h.Delete(ctx, "a", "task", id, UpdateOptions{Durability: engine.WAL, Revision: revision})
				check(t, err, want)
			},
			"time passes": func(t *rapid.T) {
				h.clock.Pass(time.Duration(rapid.IntRange(1, 2000).Draw(t, "ms")) * time.Millisecond)
				m.now = h.clock.Now()
			},
			"export and import": func(t *rapid.T) {
				var lines, again bytes.Buffer
				require.NoError(t, h.Export(ctx, "a", "task", &lines))
				n, err := h.Import(ctx, "b", "task", bytes.NewReader(lines.Bytes()))
				require.NoError(t, err)
				require.Equal(t, len(m.records), n)
				require.NoError(t, h.Export(ctx, "b", "task", &again))
				for line := range strings.Lines(lines.String()) {
					require.Contains(t, again.String(), line)
				}
			},
			"": func(t *rapid.T) {
				for _, id := range ids {
					d, err := h.Get(ctx, "a", "task", id)
					r := live(id)
					if r == nil {
						require.ErrorIs(t, err, ErrNotFound)
					} else {
						require.NoError(t, err)
						require.JSONEq(t, string(r.o.json()), string(d.JSON))
						require.Equal(t, [2]uint64{r.revision, r.ordinal}, [2]uint64{d.Revision, d.Ordinal})
					}
					list, err := h.History(ctx, "a", "task", id)
					want := past[id][max(0, len(past[id])-8):]
					require.Equal(t, len(want) == 0, err != nil)
					require.Len(t, list, len(want))
					for i, d := range list {
						if want[i] == "" {
							require.Nil(t, d.JSON)
						} else {
							require.JSONEq(t, want[i], string(d.JSON))
						}
					}
				}
				owner, state, label := rapid.SampledFrom([]string{"user:ann", "user:bob"}).Draw(t, "owner"), status.Draw(t, "status"), rapid.SampledFrom([]string{"x", "x\x00", "z"}).Draw(t, "label")
				all := rapid.Bool().Draw(t, "all")
				limit := rapid.IntRange(1, 3).Draw(t, "limit")
				in := func(o object) bool { return all || m.force(o) }
				has := func(o object) bool { labels, _ := o["labels"].([]any); return slices.Contains(labels, any(label)) }
				for _, c := range []struct {
					filters []Filter
					keep    func(object) bool
				}{
					{nil, in},
					{[]Filter{Equal("by_status", state)}, func(o object) bool { return in(o) && o["status"] == state }},
					{[]Filter{{Index: "open"}}, func(o object) bool { return in(o) && o["status"] != "done" }},
					{[]Filter{Equal("by_label", label)}, func(o object) bool { return in(o) && has(o) }},
					{[]Filter{Equal("by_owner", owner, state), Equal("by_label", label)}, func(o object) bool { return in(o) && has(o) && o["owner"] == owner && o["status"] == state }},
				} {
					want := m.list(c.keep)
					require.Equal(t, want, h.listed("task", Query{Filters: c.filters, All: all, Limit: limit}))
					slices.Reverse(want)
					require.Equal(t, want, h.listed("task", Query{Filters: c.filters, All: all, Limit: limit, Reverse: true}))
				}
				view, err := h.View("a")
				require.NoError(t, err)
				revision, err := view.Revision("task")
				require.NoError(t, err)
				require.Equal(t, m.revision, revision, "a refusal takes none")
				require.NoError(t, view.Close())
			},
		})
	})
}
