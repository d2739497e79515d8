package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestB01IDsHaveTheDayOfTheirCreation(t *testing.T) {
	h := newHost(t)
	h.clock.Set(11*time.Hour + 59*time.Minute + 59*time.Second + 999*time.Millisecond)
	require.Regexp(t, `^tsk-20260301-[a-z0-9]{6}$`, h.create("task", aTask).ID)
	h.clock.Pass(time.Millisecond)
	require.Regexp(t, `^tsk-20260302-[a-z0-9]{6}$`, h.create("task", aTask).ID)
}

// repeating gives the same bytes again and again, and then others.
type repeating struct {
	mu    sync.Mutex
	reads int
}

func (r *repeating) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range b {
		b[i] = byte(r.reads / 60) // six letters each: ten ids are the same
		r.reads++
	}
	return len(b), nil
}

func TestB02IDsAreUnique(t *testing.T) {
	h := newHost(t)
	n := enginetest.Scale(2000)
	ids := make(chan string, 8*n)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range n / 8 {
				ids <- h.create("task", aTask).ID
			}
		})
	}
	all.Wait()
	close(ids)
	seen := map[string]bool{}
	for id := range ids {
		require.False(t, seen[id])
		seen[id] = true
	}
	require.Len(t, h.listed("task", Query{Limit: 1000}), len(seen))

	db := mem.New()
	store, err := kv.Open(db, kv.Options{Clock: kvtest.New()})
	require.NoError(t, err)
	s, err := New(store, Options{Rand: new(repeating)}, parse(t, taskJSON))
	require.NoError(t, err)
	var made []Doc
	for i := range 3 {
		d, err := s.Create(ctx, "a", "task", aTask.with(object{"title": fmt.Sprint(i)}).json(), WriteOptions{})
		require.NoError(t, err, "an id that is taken is drawn again")
		made = append(made, d)
	}
	for _, d := range made {
		got, err := s.Get(ctx, "a", "task", d.ID)
		require.NoError(t, err)
		require.Equal(t, d, got, "the first is untouched")
	}
	require.NoError(t, store.Close())
	require.NoError(t, db.Close())
}

func TestB03IDsOfCallers(t *testing.T) {
	h := newHost(t)
	given := aTask.with(object{"task_id": "tsk-20251130-own001"})
	d := h.create("task", given)
	require.Equal(t, "tsk-20251130-own001", d.ID)
	_, err := h.Create(ctx, "a", "task", given.with(object{"title": "other"}).json(), WriteOptions{})
	refused(t, err, CodeAlreadyExists, "task_id")
	got, err := h.Get(ctx, "a", "task", d.ID)
	require.NoError(t, err)
	require.Equal(t, d, got)
	for id, code := range map[any]Code{
		"tsk_1": CodeValidation, "TSK-20251130-own001": CodeValidation, "tsk-20251130-own001\n": CodeValidation, "tsk-20251130-own0012": CodeValidation, "": CodeValidation,
		7: CodeValidation, nil: CodeValidation, "\x00counter:20260301": CodeValidation, "open": CodeReserved, "open:x": CodeReserved, "tsk-20251130-own0\x00": CodeValidation,
	} {
		_, err := h.Create(ctx, "a", "task", given.with(object{"task_id": id}).json(), WriteOptions{})
		refused(t, err, code, "task_id")
		if text, ok := id.(string); ok {
			_, err = h.Get(ctx, "a", "task", text)
			require.ErrorIs(t, err, ErrNotFound)
		}
	}
	for id, code := range map[string]Code{
		"a:b": CodeValidation, "by_boss:x": CodeReserved, "active": CodeReserved, "-a": CodeValidation, "ä": CodeValidation, "a/b": CodeValidation,
		strings.Repeat("x", 129): CodeValidation, strings.Repeat("x", 3000): CodeValidation, "a\x00": CodeValidation, "..": CodeValidation,
	} {
		_, err := h.Create(ctx, "a", "worker", object{"worker_id": id}.json(), WriteOptions{})
		refused(t, err, code, "worker_id")
	}
	_, err = h.Create(ctx, "a", "worker", []byte(`{}`), WriteOptions{})
	refused(t, err, CodeValidation, "worker_id")
	h.create("worker", object{"worker_id": strings.Repeat("x", 128)})
	_, err = h.Create(ctx, "a", "entry", []byte(`{"what":"x","entry_id":"ent-20260301-000009"}`), WriteOptions{})
	refused(t, err, CodeValidation, "entry_id")
	require.Len(t, h.listed("task", Query{}), 1, "nothing that was refused is stored")
}

func TestB04Instants(t *testing.T) {
	h := newHost(t)
	d := h.create("task", aTask.with(object{"due": "2025-11-30T01:00:00.500+02:00", "window": object{"from": "2025-11-30T12:00:00Z", "until": nil}}))
	got := of(t, d)
	require.Equal(t, "2025-11-29T23:00:00.5Z", got["due"])
	require.Equal(t, map[string]any{"from": "2025-11-30T12:00:00Z", "until": nil}, got["window"])
	d, err := h.update("task", d.ID, object{"window": object{"until": "2027-01-01T00:00:00-01:00"}})
	require.NoError(t, err)
	require.Equal(t, "2027-01-01T01:00:00Z", of(t, d)["window"].(map[string]any)["until"])
	same, err := h.update("task", d.ID, object{"due": "2025-11-30T00:00:00.5+01:00"})
	require.NoError(t, err)
	require.Equal(t, d, same, "the same moment is no change")
	d, err = h.update("task", d.ID, object{"reminders": []string{"2026-01-01T00:00:00+01:00", "2026-01-02T00:00:00Z"}})
	require.NoError(t, err)
	require.Equal(t, []any{"2025-12-31T23:00:00Z", "2026-01-02T00:00:00Z"}, of(t, d)["reminders"])
	for _, bad := range []string{"30/11/2025", "2025-11-30", "", "2025-11-30T25:00:00Z"} {
		_, err := h.update("task", d.ID, object{"due": bad})
		refused(t, err, CodeValidation, "due")
		_, err = h.update("task", d.ID, object{"window": object{"from": bad}})
		refused(t, err, CodeValidation, "window.from")
	}
	_, err = h.update("task", d.ID, object{"due": 7})
	refused(t, err, CodeValidation, "due")
}

func TestB05UnknownFieldsSurvive(t *testing.T) {
	h := newHost(t)
	extra := object{"x": map[string]any{"": []any{nil, true, 1.5e300, "ü\u0000", map[string]any{"deep": []any{}}}}, "tASK_id": "other", "a.b": 1.0}
	d := h.create("task", aTask.with(extra))
	d, err := h.update("task", d.ID, object{"title": "t2"})
	require.NoError(t, err)
	d, err = h.Transition(ctx, "a", "task", d.ID, "doing", nil, UpdateOptions{})
	require.NoError(t, err)
	var lines bytes.Buffer
	require.NoError(t, h.Export(ctx, "a", "task", &lines))
	_, err = h.Import(ctx, "b", "task", &lines)
	require.NoError(t, err)
	copied, err := h.Get(ctx, "b", "task", d.ID)
	require.NoError(t, err)
	require.Equal(t, string(d.JSON), string(copied.JSON))
	got := of(t, copied)
	for name, value := range extra {
		require.Equal(t, value, got[name])
	}
}

func TestB16UpdatesGrowTheStampAndConflict(t *testing.T) {
	h := newHost(t)
	d := h.create("task", aTask.with(object{"created_by": "user:ann"}))
	before := of(t, d)
	stamps := []string{before["updated_at"].(string)}
	for i := range 3 { // in the same millisecond
		next, err := h.update("task", d.ID, object{"title": fmt.Sprint(i)})
		require.NoError(t, err)
		stamps = append(stamps, of(t, next)["updated_at"].(string))
		require.Equal(t, before["created_at"], of(t, next)["created_at"])
	}
	require.Equal(t, []string{"2026-03-01T12:00:00Z", "2026-03-01T12:00:00.001Z", "2026-03-01T12:00:00.002Z", "2026-03-01T12:00:00.003Z"}, stamps)
	now, err := h.Get(ctx, "a", "task", d.ID)
	require.NoError(t, err)
	for _, write := range []func() error{
		func() error {
			_, err := h.Update(ctx, "a", "task", d.ID, []byte(`{"title":"x"}`), UpdateOptions{Revision: d.Revision})
			return err
		},
		func() error {
			_, err := h.Transition(ctx, "a", "task", d.ID, "doing", nil, UpdateOptions{Revision: d.Revision})
			return err
		},
		func() error {
			_, err := h.Delete(ctx, "a", "task", d.ID, UpdateOptions{Revision: d.Revision})
			return err
		},
	} {
		require.Equal(t, now.Revision, refused(t, write(), CodeConflict, "revision").Revision)
	}
	for field, patch := range map[string]object{
		"created_by": {"created_by": "user:bob"}, "created_at": {"created_at": nil}, "updated_at": {"updated_at": "2030-01-01T00:00:00Z"},
		"task_id": {"task_id": "tsk-20251130-own001"}, "done_at": {"done_at": "2030-01-01T00:00:00Z"},
	} {
		_, err := h.update("task", d.ID, patch)
		refused(t, err, CodeImmutable, field)
	}
	same, err := h.update("task", d.ID, of(t, now))
	require.NoError(t, err, "a whole document as a patch")
	require.Equal(t, now, same)
	revision, err := func() (uint64, error) {
		v, err := h.View("a")
		require.NoError(t, err)
		defer v.Close()
		return v.Revision("task")
	}()
	require.NoError(t, err)
	require.Equal(t, now.Revision, revision, "no refusal has taken a revision")
	got, err := h.Update(ctx, "a", "task", d.ID, []byte(`{"title":"x"}`), UpdateOptions{Revision: now.Revision})
	require.NoError(t, err)
	require.Equal(t, now.Revision+1, got.Revision)
}

func TestStampsThatAreGivenStay(t *testing.T) {
	h := newHost(t)
	d := h.create("task", aTask.with(object{"created_at": "2025-11-30T12:00:00Z", "updated_at": nil}))
	require.Equal(t, [2]any{"2025-11-30T12:00:00Z", "2026-03-01T12:00:00Z"}, [2]any{of(t, d)["created_at"], of(t, d)["updated_at"]})
	line := `{"created_at":"2025-11-30T12:00:00Z","owner":"user:ann","status":"done","task_id":"tsk-20251130-000000","title":"t","updated_at":"2025-11-30T12:00:00Z"}`
	_, err := h.Import(ctx, "a", "task", strings.NewReader(line))
	require.NoError(t, err)
	d, err = h.update("task", "tsk-20251130-000000", object{"title": "u"})
	require.NoError(t, err)
	require.NotContains(t, of(t, d), "done_at", "the state was come to before")
}

func TestB15APrimaryAndItsKeysAreOne(t *testing.T) {
	h := newHost(t)
	d := h.create("task", aTask)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				view, err := h.View("a")
				require.NoError(t, err)
				one, err := view.Get("task", d.ID)
				require.NoError(t, err)
				page, err := view.List(ctx, "task", Query{Filters: []Filter{Equal("by_owner", of(t, one)["owner"].(string))}})
				require.NoError(t, err)
				require.Equal(t, []Doc{one}, page.Docs)
				require.NoError(t, view.Close())
			}
		})
	}
	for i := range enginetest.Scale(500) {
		_, err := h.update("task", d.ID, object{"owner": fmt.Sprint("user:", i%3), "title": fmt.Sprint(i)})
		require.NoError(t, err)
	}
	close(stop)
	readers.Wait()
}

func TestWhatTheSchemaRefusesNamesItsField(t *testing.T) {
	h := newHost(t)
	good := h.create("task", aTask)
	for field, change := range map[string]object{
		"title":          {"title": ""},
		"owner":          {"owner": "ann"},
		"priority":       {"priority": 1.5},
		"labels":         {"labels": []string{"a", "a"}},
		"labels.1":       {"labels": []any{"a", 1}},
		"steps.1.what":   {"steps": []object{{"what": "x"}, {}}},
		"steps.0.how":    {"steps": []object{{"what": "x", "how": 1}}},
		"steps.0.steps":  {"steps": []object{{"what": "x", "steps": 7}}},
		"status":         {"status": "lost"},
		"window":         {"window": "x"},
		"blocked_reason": {"blocked_reason": 7},
	} {
		_, err := h.Create(ctx, "a", "task", aTask.with(change).json(), WriteOptions{})
		e := refused(t, err, CodeValidation, field)
		require.Equal(t, "task", e.Collection)
		if field != "status" {
			_, err = h.update("task", good.ID, change)
			refused(t, err, CodeValidation, field)
		}
	}
	for field, change := range map[string]object{"priority": {"priority": -1}, "title": {"title": strings.Repeat("x", 101)}, "labels": {"labels": "x"}} {
		_, err := h.update("task", good.ID, change)
		refused(t, err, CodeValidation, field)
	}
	for _, missing := range []string{"title", "owner"} {
		_, err := h.Create(ctx, "a", "task", aTask.with(object{missing: nil}).json(), WriteOptions{})
		refused(t, err, CodeValidation, missing)
		_, err = h.update("task", good.ID, object{missing: nil})
		refused(t, err, CodeValidation, missing)
	}
	now, err := h.Get(ctx, "a", "task", good.ID)
	require.NoError(t, err)
	require.Equal(t, good, now)
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	h := newHost(t)
	d := h.create("task", aTask)
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for doc, code := range map[string]Code{
		"":                                      CodeValidation,
		"null":                                  CodeValidation,
		"[]":                                    CodeValidation,
		`"x"`:                                   CodeValidation,
		`{"title":"a"`:                          CodeValidation,
		`{"title":"a"} {}`:                      CodeValidation,
		`{"title":"a","title":"b"}`:             CodeValidation,
		`{"title":"a","\u0074itle":"b"}`:        CodeValidation,
		`{"x":{"y":1,"y":2}}`:                   CodeValidation,
		`{"x":9007199254740993}`:                CodeValidation,
		`{"x":1e999}`:                           CodeValidation,
		`{"x":"` + "\xff" + `"}`:                CodeValidation,
		`{"x":"\ud800"}`:                        CodeValidation,
		nested(100_000):                         CodeValidation,
		`{"x":"` + text(15<<20) + `"}`:          CodeTooLarge,
		`{"x":` + text(MaxDocument) + `}`:       CodeTooLarge,
		strings.Repeat("[", 1<<20):              CodeValidation,
		strings.Repeat(" ", MaxDocument) + "{}": CodeTooLarge,
	} {
		_, err := h.Create(ctx, "a", "task", []byte(doc), WriteOptions{})
		refused(t, err, code, "doc")
		_, err = h.Update(ctx, "a", "task", d.ID, []byte(doc), UpdateOptions{})
		refused(t, err, code, "patch")
	}
	_, err := h.update("worker", "none", object{})
	require.ErrorIs(t, err, ErrNotFound)
	h.create("worker", object{"worker_id": "w"})
	_, err = h.update("worker", "w", object{"x": text(9000)})
	refused(t, err, CodeTooLarge, "doc")
	_, err = h.update("worker", "w", object{"boss": text(5000)})
	refused(t, err, CodeValidation, "boss")
	_, err = h.update("worker", "w", object{"boss": strings.Repeat("\x00", 1300)}) // 1,300 escapes of six bytes; each zero byte has two in a term
	require.NoError(t, err)
	_, err = h.update("worker", "w", object{"boss": ""})
	require.NoError(t, err)
	labels := make([]string, MaxTerms+1)
	for i := range labels {
		labels[i] = fmt.Sprint("l", i)
	}
	_, err = h.update("task", d.ID, object{"labels": labels})
	refused(t, err, CodeValidation, "labels")
	_, err = h.update("task", d.ID, object{"labels": labels[:MaxTerms]})
	require.NoError(t, err)
	large := h.create("task", aTask.with(object{"x": text(900_000)}))
	_, err = h.update("task", large.ID, object{"y": text(200_000)})
	refused(t, err, CodeTooLarge, "doc")
	got, err := h.Get(ctx, "a", "task", large.ID)
	require.NoError(t, err)
	require.Equal(t, large, got)
}

func text(n int) string { return strings.Repeat("x", n) }

func TestErrorsShowNothingOfADocument(t *testing.T) {
	h := newHost(t)
	const secret = "hunter2"
	d := h.create("worker", object{"worker_id": "w", "password": secret})
	for _, patch := range []object{{"boss": 1, "x": secret}, {"worker_id": secret}, {"age": secret}} {
		_, err := h.update("worker", d.ID, patch)
		require.Error(t, err)
		require.NotContains(t, err.Error(), secret)
	}
	_, err := h.Create(ctx, "a", "task", aTask.with(object{"due": secret}).json(), WriteOptions{})
	require.NotContains(t, err.Error(), secret)
	_, err = h.Create(ctx, "a", "task", aTask.with(object{"owner": secret, "labels": []any{secret, secret}}).json(), WriteOptions{})
	require.NotContains(t, err.Error(), secret)
	raw, err := json.Marshal(err)
	require.NoError(t, err)
	require.NotContains(t, string(raw), secret)
}

func TestStatesGoAsDeclared(t *testing.T) {
	states := []string{"open", "doing", "blocked", "done"}
	legal := map[[2]string]bool{{"open", "doing"}: true, {"open", "done"}: true, {"doing", "blocked"}: true, {"doing", "done"}: true, {"doing", "open"}: true, {"blocked", "doing"}: true}
	for _, from := range states {
		for _, to := range states {
			h := newHost(t)
			d := h.create("task", aTask.with(object{"status": from, "blocked_reason": "why"}))
			before := of(t, d)
			verbs := map[string]func() (Doc, error){
				"transition": func() (Doc, error) {
					return h.Transition(ctx, "a", "task", d.ID, to, []byte(`{"blocked_reason":"because"}`), UpdateOptions{})
				},
				"update": func() (Doc, error) {
					return h.update("task", d.ID, object{"status": to, "blocked_reason": "because"})
				},
				"unit of work": func() (next Doc, err error) {
					err = h.Do(ctx, "a", engine.WAL, func(tx *Tx) error {
						next, err = tx.Transition("task", d.ID, to, []byte(`{"blocked_reason":"because"}`), UpdateOptions{})
						return err
					})
					return next, err
				},
			}
			for name, verb := range verbs {
				next, err := verb()
				if from != to && !legal[[2]string{from, to}] {
					refused(t, err, CodeIllegalTransition, "status")
					now, err := h.Get(ctx, "a", "task", d.ID)
					require.NoError(t, err)
					require.Equal(t, d, now, "unchanged")
					continue
				}
				require.NoError(t, err, "%s from %s to %s", name, from, to)
				got := of(t, next)
				require.Equal(t, to, got["status"])
				if from == "blocked" && to != "blocked" {
					require.NotContains(t, got, "blocked_reason", "cleared")
				} else {
					require.Equal(t, "because", got["blocked_reason"])
				}
				if to == "done" && from != "done" {
					require.Equal(t, before["created_at"], got["done_at"], "the time")
				}
				break // the record has moved
			}
		}
	}
	h := newHost(t)
	_, err := h.Create(ctx, "a", "task", aTask.with(object{"status": "blocked"}).json(), WriteOptions{})
	refused(t, err, CodeValidation, "blocked_reason")
	d := h.create("task", aTask.with(object{"status": "doing"}))
	_, err = h.Transition(ctx, "a", "task", d.ID, "blocked", nil, UpdateOptions{})
	refused(t, err, CodeValidation, "blocked_reason")
	_, err = h.Transition(ctx, "a", "task", d.ID, "blocked", []byte(`{"blocked_reason":""}`), UpdateOptions{})
	refused(t, err, CodeValidation, "blocked_reason")
	same, err := h.Transition(ctx, "a", "task", d.ID, "doing", nil, UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, d, same, "to the same state is no change")
	_, err = h.Transition(ctx, "a", "task", d.ID, "lost", nil, UpdateOptions{})
	refused(t, err, CodeIllegalTransition, "status")
	h.create("worker", object{"worker_id": "w"})
	_, err = h.Transition(ctx, "a", "worker", "w", "done", nil, UpdateOptions{})
	refused(t, err, CodeInvalidArgument, "collection")
}

// Two writers of different fields of a record, and increments by compare-and-swap: none
// is lost.
func TestWritersOfOneRecordLoseNothing(t *testing.T) {
	h := newHost(t)
	d := h.create("worker", object{"worker_id": "w", "age": 0})
	n := enginetest.Scale(40)
	var all sync.WaitGroup
	for w := range 10 {
		all.Go(func() {
			for i := range n {
				_, err := h.update("worker", d.ID, object{fmt.Sprint("field", w): i})
				require.NoError(t, err, "without an expected revision it is done whatever others do")
			}
		})
	}
	for range 2 {
		all.Go(func() {
			for range n {
				for {
					now, err := h.Get(ctx, "a", "worker", "w")
					require.NoError(t, err)
					_, err = h.Update(ctx, "a", "worker", "w", object{"age": of(t, now)["age"].(float64) + 1}.json(), UpdateOptions{Revision: now.Revision})
					if err == nil {
						break
					}
					require.ErrorIs(t, errCode(err), ErrConflict)
				}
			}
		})
	}
	all.Wait()
	now, err := h.Get(ctx, "a", "worker", "w")
	require.NoError(t, err)
	got := of(t, now)
	require.EqualValues(t, 2*n, got["age"])
	for w := range 10 {
		require.EqualValues(t, n-1, got[fmt.Sprint("field", w)])
	}
}

func errCode(err error) error { return &Error{Code: err.(*Error).Code} }
