package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

// verbs calls every verb once and returns what each answered, up to the first that a
// read has failed for.
func verbs(h *host) (answers []string) {
	tell := func(v any, err error) error {
		if errors.Is(err, faulty.ErrInjected) {
			return err
		}
		answers = append(answers, fmt.Sprint(v, err))
		return nil
	}
	doc := func(d Doc, err error) error { return tell(string(d.JSON), err) }
	id := "tsk-20260301-000001"
	o := UpdateOptions{Durability: engine.WAL}
	var lines strings.Builder
	for _, verb := range []func() error{
		func() error { return doc(h.Get(ctx, "a", "task", id)) },
		func() error {
			return doc(h.Create(ctx, "a", "task", aTask.with(object{"task_id": id}).json(), WriteOptions{}))
		},
		func() error { return doc(h.Create(ctx, "a", "entry", []byte(`{"what":"x"}`), WriteOptions{})) },
		func() error { return doc(h.update("task", id, object{"title": "t"})) },
		func() error {
			return h.Do(ctx, "a", engine.WAL, func(tx *Tx) error {
				found, more, err := tx.Find("task", Filter{}, 5)
				if err = tell(fmt.Sprint(len(found), more), err); err != nil {
					return err
				}
				return doc(tx.Update("task", id, []byte(`{"title":"in"}`), o))
			})
		},
		func() error { p, err := h.List(ctx, "a", "task", Query{Limit: 1}); return tell(len(p.Docs), err) },
		func() error { l, err := h.History(ctx, "a", "task", id); return tell(len(l), err) },
		func() error { v, err := h.Lookup(ctx, "a", "task:open"); return tell(string(v), err) },
		func() error { v, err := h.Lookup(ctx, "a", "entry:counter:2026-03-01"); return tell(string(v), err) },
		func() error { return tell("exported", h.Export(ctx, "a", "task", &lines)) },
		func() error { return doc(h.Transition(ctx, "a", "task", id, "done", nil, o)) },
		func() error {
			h.clock.Pass(25 * time.Hour)
			n, err := h.PutAside(ctx, "a", "task")
			return tell(n, err)
		},
		func() error { return doc(h.Get(ctx, "a", "task.archive", id)) },
		func() error { return doc(h.Delete(ctx, "a", "entry", "ent-20260301-000001", o)) },
		func() error {
			n, err := h.Import(ctx, "a", "entry", strings.NewReader(`{"entry_id":"ent-20260301-000007","what":"x"}`))
			return tell(n, err)
		},
	} {
		if verb() != nil {
			return answers
		}
	}
	return answers
}

// A read that fails is an error of the verb, and never an answer, as that there is no
// record.
func TestAFailedReadIsNoAnswer(t *testing.T) {
	prepared := func() (engine.Engine, *kvtest.Clock) {
		db, clock := mem.New(), kvtest.New()
		h, end := open(t, db, clock)
		for i := range 3 {
			h.create("task", aTask.with(object{"task_id": fmt.Sprintf("tsk-20260301-00000%d", i)}))
		}
		h.create("entry", object{"what": "x"})
		_, err := h.Space(ctx, "a", "task.archive")
		require.NoError(t, err)
		end()
		return db, clock
	}
	db, clock := prepared()
	h, end := open(t, db, clock)
	want := verbs(h)
	require.Len(t, want, 16)
	end()
	for at := 1; ; at++ {
		db, clock := prepared()
		f := faulty.New(db, faulty.Options{At: at, Calls: faulty.Reads})
		store, err := kv.Open(f, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			s, err := New(store, Options{}, parse(t, taskJSON), parse(t, entryJSON), parse(t, workerJSON))
			if err == nil {
				got := verbs(&host{t, clock, store, s})
				require.True(t, len(got) <= len(want) && slices.Equal(got, want[:len(got)]), "with read %d failed:\n%s\nwithout:\n%s", at, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			require.NoError(t, store.Close())
		}
		tripped := f.Tripped()
		h, end := open(t, f.Restart(), clock)
		require.NotNil(t, h)
		end()
		if !tripped {
			return
		}
	}
}

func TestATransactionTellsAndKeepsWhatItReads(t *testing.T) {
	h := newHost(t)
	first := h.create("worker", object{"worker_id": "ann", "age": 1})
	var kept, unchanged Doc
	var found []Doc
	require.NoError(t, h.Do(ctx, "a", engine.WAL, func(tx *Tx) (err error) {
		_, err = tx.Create("worker", object{"worker_id": "ann"}.json())
		refused(t, err, CodeAlreadyExists, "worker_id")
		unchanged, err = tx.Update("worker", "ann", []byte(`{"age":1}`), UpdateOptions{})
		require.NoError(t, err)
		_, err = tx.Update("worker", "ann", []byte(`{"age":2}`), UpdateOptions{Revision: 9})
		refused(t, err, CodeConflict, "revision")
		if found, _, err = tx.Find("worker", Filter{}, 1); err != nil {
			return err
		}
		kept, err = tx.Get("worker", "ann")
		return err
	}))
	for i := range 20 { // which use the memory of the unit again
		h.create("worker", object{"worker_id": fmt.Sprint("w", i), "x": text(500)})
	}
	require.Equal(t, []Doc{first, first, first}, []Doc{unchanged, kept, found[0]}, "their bytes are the caller's, and what changes nothing takes no revision")
	refused(t, h.Do(ctx, "", engine.WAL, func(*Tx) error { return nil }), CodeInvalidArgument, "tenant")
	_, err := h.History(ctx, "", "task", "tsk-20260301-000001")
	refused(t, err, CodeInvalidArgument, "tenant")
}

func TestASpaceThatWasDroppedIsMadeAnew(t *testing.T) {
	h := newHost(t)
	h.create("worker", object{"worker_id": "ann"})
	space, err := h.Space(ctx, "a", "worker")
	require.NoError(t, err)
	_, err = h.kv.DropTenant(ctx, "a")
	require.NoError(t, err)
	require.NoError(t, h.do(ctx, "a", engine.WAL, map[string]*kv.Space{"worker": space}, func(tx *Tx) error {
		_, err := tx.Create("worker", object{"worker_id": "bob"}.json())
		return err
	}))
	require.Equal(t, []string{"bob"}, h.listed("worker", Query{}))
}

// What happens to a record between the preparing of a change and its batch is seen in
// the batch.
func TestAChangeIsOfTheRecordAsItIsInTheBatch(t *testing.T) {
	c := parse(t, workerJSON)
	between := func(*host) {}
	h := newHostOf(t, c)
	c.Prepare = func(doc json.RawMessage) (json.RawMessage, error) {
		then := between
		between = func(*host) {}
		then(h)
		return doc, nil
	}
	h.create(c.Name, object{"worker_id": "w"})
	between = func(h *host) { _, _ = h.Delete(ctx, "a", c.Name, "w", UpdateOptions{}) }
	_, err := h.update(c.Name, "w", object{"age": 1})
	refused(t, err, CodeNotFound, "id")
	d := h.create(c.Name, object{"worker_id": "w"})
	between = func(h *host) { _, _ = h.update(c.Name, "w", object{"boss": "b"}) }
	_, err = h.Update(ctx, "a", c.Name, "w", []byte(`{"age":1}`), UpdateOptions{Revision: d.Revision})
	require.Equal(t, d.Revision+1, refused(t, err, CodeConflict, "revision").Revision)
	between = func(h *host) { _, _ = h.update(c.Name, "w", object{"boss": "c"}) }
	next, err := h.update(c.Name, "w", object{"age": 1})
	require.NoError(t, err)
	require.Equal(t, object{"worker_id": "w", "boss": "c", "age": 1.0}, of(t, next))
}

// Who is overtaken again and again is served in the batch at last.
func TestAChangeThatIsAlwaysOvertakenIsMadeAllTheSame(t *testing.T) {
	c := parse(t, workerJSON)
	h := newHostOf(t, c)
	h.create(c.Name, object{"worker_id": "w"})
	var inner bool
	overtaken := 0
	c.Prepare = func(doc json.RawMessage) (json.RawMessage, error) {
		if !inner && overtaken < writeAttempts {
			inner = true
			overtaken++
			_, err := h.update(c.Name, "w", object{"boss": fmt.Sprint(overtaken)})
			inner = false
			return doc, err
		}
		return doc, nil
	}
	d, err := h.update(c.Name, "w", object{"age": 1})
	require.NoError(t, err)
	require.Equal(t, object{"worker_id": "w", "boss": "4", "age": 1.0}, of(t, d))
	overtaken = 0
	d, err = h.update(c.Name, "w", object{"boss": "4", "age": 1})
	require.NoError(t, err, "what it is to be others have made it")
	require.Equal(t, "4", of(t, d)["boss"])
}

func TestADamagedRowIsNoDocument(t *testing.T) {
	c := parse(t, workerJSON)
	_, err := c.doc(kv.Record{Key: []byte("w"), Kind: kv.Put, Value: make([]byte, ordinalBytes)})
	require.ErrorIs(t, err, engine.ErrCorrupt)
}

// A refusal of another collection's record names that one.
func TestARefusalNamesItsCollection(t *testing.T) {
	h := newHost(t)
	h.collections["entry"].Check = func(tx *Tx, _, _ Doc) error { _, err := tx.Get("worker", "nobody"); return err }
	_, err := h.Create(ctx, "a", "entry", []byte(`{"what":"x"}`), WriteOptions{})
	require.Equal(t, "worker", refused(t, err, CodeNotFound, "id").Collection)
}
