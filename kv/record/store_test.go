package record

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

//go:embed testdata/task.json
var taskJSON string

//go:embed testdata/entry.json
var entryJSON string

//go:embed testdata/worker.json
var workerJSON string

// host is a store of the collections for tests, with a clock by hand.
type host struct {
	t     require.TestingT
	clock *kvtest.Clock
	kv    *kv.Store
	*Store
}

func parse(t require.TestingT, declaration string) *Collection {
	c, err := Parse([]byte(declaration))
	require.NoError(t, err)
	return c
}

// random is what ids are made of in tests.
type random struct {
	mu sync.Mutex
	r  *rand.ChaCha8
}

func (r *random) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.r.Read(b)
}

// open returns a host on an engine, and what ends it.
func open(t require.TestingT, db engine.Engine, clock *kvtest.Clock) (*host, func()) {
	store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := New(store, Options{Rand: &random{r: rand.NewChaCha8([32]byte{1})}}, parse(t, taskJSON), parse(t, entryJSON), parse(t, workerJSON))
	require.NoError(t, err)
	return &host{t, clock, store, s}, func() {
		for f, err := range store.Check(ctx) {
			require.NoError(t, err)
			require.Fail(t, "the check finds", f.String())
		}
		for tenant, err := range store.Tenants(ctx, "", true) {
			require.NoError(t, err)
			allHold(t, s, tenant.Name)
		}
		require.NoError(t, store.Close())
	}
}

// allHold demands of every stored document of a tenant that its collection would take it
// as it is.
func allHold(t require.TestingT, s *Store, tenant string) {
	view, err := s.View(tenant)
	require.NoError(t, err)
	for _, name := range s.Collections() {
		c, err := s.Collection(name)
		require.NoError(t, err)
		for d, err := range view.All(ctx, name) {
			require.NoError(t, err)
			require.NoError(t, c.Verify(d), "%s", d.JSON)
		}
	}
	require.NoError(t, view.Close())
}

func newHost(t *testing.T) *host {
	db := mem.New()
	h, end := open(t, db, kvtest.New())
	t.Cleanup(func() { end(); require.NoError(t, db.Close()) })
	return h
}

// object is a document as tests write it.
type object map[string]any

func (o object) with(more object) object {
	out := object{}
	for _, from := range []object{o, more} {
		for name, value := range from {
			out[name] = value
		}
	}
	return out
}

func (o object) json() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return b
}

// of is what a document says.
func of(t require.TestingT, d Doc) (o object) {
	require.NoError(t, json.Unmarshal(d.JSON, &o))
	return o
}

var aTask = object{"title": "write", "owner": "user:ann"}

func (h *host) create(collection string, o object) Doc {
	d, err := h.Create(ctx, "a", collection, o.json(), WriteOptions{Durability: engine.WAL})
	require.NoError(h.t, err)
	return d
}

func (h *host) update(collection, id string, patch object) (Doc, error) {
	return h.Update(ctx, "a", collection, id, patch.json(), UpdateOptions{Durability: engine.WAL})
}

// refused requires the code and the field of an error.
func refused(t require.TestingT, err error, code Code, field string) *Error {
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, [2]string{string(code), field}, [2]string{string(e.Code), e.Field}, e.Error())
	require.NotEmpty(t, e.Reason)
	return e
}

// listed are the ids of all pages of a list.
func (h *host) listed(collection string, q Query) (ids []string) {
	for {
		page, err := h.List(ctx, "a", collection, q)
		require.NoError(h.t, err)
		for _, d := range page.Docs {
			ids = append(ids, d.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids
		}
	}
}

// revision is the last one of a collection.
func (h *host) revision(collection string) uint64 {
	view, err := h.View("a")
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, view.Close()) }()
	n, err := view.Revision(collection)
	require.NoError(h.t, err)
	return n
}

func TestARecordIsMadeReadChangedAndRemoved(t *testing.T) {
	h := newHost(t)
	_, err := h.Get(ctx, "a", "task", "tsk-20260301-aaaaaa")
	require.ErrorIs(t, err, ErrNotFound)
	d := h.create("task", aTask.with(object{"extra": object{"b": 1, "a": []int{1}}}))
	require.Regexp(t, `^tsk-20260301-[a-z0-9]{6}$`, d.ID)
	require.Equal(t, object{"task_id": d.ID, "title": "write", "owner": "user:ann", "status": "open", "priority": 5.0,
		"created_at": "2026-03-01T12:00:00Z", "updated_at": "2026-03-01T12:00:00Z", "extra": map[string]any{"a": []any{1.0}, "b": 1.0}}, of(t, d))
	got, err := h.Get(ctx, "a", "task", d.ID)
	require.NoError(t, err)
	require.Equal(t, d, got)
	h.clock.Pass(time.Second)
	next, err := h.update("task", d.ID, object{"title": "read", "extra": object{"b": nil}})
	require.NoError(t, err)
	require.Equal(t, of(t, d).with(object{"title": "read", "extra": map[string]any{"a": []any{1.0}}, "updated_at": "2026-03-01T12:00:01Z"}), of(t, next))
	require.Equal(t, [2]uint64{2, d.Ordinal}, [2]uint64{next.Revision, next.Ordinal})
	same, err := h.update("task", d.ID, object{"title": "read"})
	require.NoError(t, err)
	require.Equal(t, next, same, "what changes nothing is no change")
	gone, err := h.Delete(ctx, "a", "task", d.ID, UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, next, gone)
	_, err = h.Delete(ctx, "a", "task", d.ID, UpdateOptions{})
	require.ErrorIs(t, err, ErrNotFound)
	_, err = h.update("task", d.ID, object{})
	require.ErrorIs(t, err, ErrNotFound)
	for _, where := range [][2]string{{"", "task"}, {"a", "nothing"}} {
		_, err = h.Create(ctx, where[0], where[1], aTask.json(), WriteOptions{})
		require.Error(t, err)
		_, err = h.Get(ctx, where[0], where[1], d.ID)
		require.Error(t, err)
	}
}

func TestTenantsDoNotMeet(t *testing.T) {
	h := newHost(t)
	d := h.create("task", aTask)
	_, err := h.Get(ctx, "b", "task", d.ID)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = h.Update(ctx, "b", "task", d.ID, []byte(`{"title":"x"}`), UpdateOptions{})
	require.ErrorIs(t, err, ErrNotFound)
	page, err := h.List(ctx, "b", "task", Query{})
	require.NoError(t, err)
	require.Empty(t, page.Docs)
	_, err = h.kv.Space("b", kv.SystemRecord, "task")
	require.ErrorIs(t, err, kv.ErrSpaceNotFound, "reading makes nothing")
}

func TestWritesOfSeveralCollectionsLandWhole(t *testing.T) {
	h := newHost(t)
	var task Doc
	require.NoError(t, h.Do(ctx, "a", engine.WAL, func(tx *Tx) (err error) {
		if task, err = tx.Create("task", aTask.json()); err != nil {
			return err
		}
		if _, err = tx.Create("worker", object{"worker_id": "ann"}.json()); err != nil {
			return err
		}
		_, err = tx.Update("worker", "ann", []byte(`{"boss":"bob"}`), UpdateOptions{})
		return err
	}))
	changed := errors.New("changed my mind")
	require.ErrorIs(t, h.Do(ctx, "a", engine.WAL, func(tx *Tx) error {
		_, err := tx.Delete("task", task.ID, UpdateOptions{})
		require.NoError(t, err)
		_, err = tx.Get("task", task.ID)
		require.ErrorIs(t, err, ErrNotFound)
		found, more, err := tx.Find("worker", Equal("by_boss", "bob"), 10)
		require.NoError(t, err)
		require.False(t, more)
		require.Len(t, found, 1)
		_, err = tx.Update("worker", "ann", []byte(strings.Repeat(" ", MaxInTx)+"{}"), UpdateOptions{})
		require.ErrorIs(t, err, ErrTooLarge)
		_, err = tx.Create("nothing", nil)
		require.ErrorIs(t, err, ErrUnknownCollection)
		return changed
	}), changed)
	got, err := h.Get(ctx, "a", "task", task.ID)
	require.NoError(t, err)
	require.Equal(t, task, got)
}
