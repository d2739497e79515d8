package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/server/socket"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// recordDaemon is a daemon under test that serves the collection task, and what it serves.
type recordDaemon struct {
	*testDaemon
	clock   *kvtest.Clock
	records *record.Store
	kv      *kv.Store
}

func openRecords(t testing.TB, eng engine.Engine, clock *kvtest.Clock, quota kv.Quota) (*kv.Store, *record.Store) {
	t.Helper()
	text, err := os.ReadFile("../../kv/record/testdata/task.json")
	require.NoError(t, err)
	task, err := record.Parse(text)
	require.NoError(t, err)
	store, err := kv.Open(eng, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	records, err := record.New(store, record.Options{Quota: quota}, task)
	require.NoError(t, err)
	return store, records
}

// startRecords serves records of an engine in memory. After the test their counters must
// equal a recount.
func startRecords(t testing.TB, o Options, quota kv.Quota) *recordDaemon {
	t.Helper()
	eng := mem.New()
	d := &recordDaemon{clock: kvtest.New()}
	d.kv, d.records = openRecords(t, eng, d.clock, quota)
	o.Records = d.records
	d.testDaemon = start(t, eng, o)
	t.Cleanup(func() { // before the engine is closed
		d.stop()
		for f, err := range d.kv.Check(context.Background()) {
			require.NoError(t, err)
			require.Fail(t, "the check finds", f.String())
		}
		require.NoError(t, d.kv.Close())
	})
	return d
}

// task is a document of the collection task.
func task(title string, more ...any) map[string]any {
	doc := map[string]any{"title": title, "owner": "user:ann"}
	for i := 0; i+1 < len(more); i += 2 {
		doc[more[i].(string)] = more[i+1]
	}
	return doc
}

// fieldOf returns a field of a document.
func fieldOf(t testing.TB, d rpc.Doc, name string) any {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal(d.JSON, &doc))
	return doc[name]
}

func TestRecordsOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startRecords(t, Options{}, kv.Quota{})
		r := d.dialAs(t, f).Records("acme")
		made, err := r.Create(t.Context(), "task", task("paint"), rpc.RecordDurability(rpc.WAL))
		require.NoError(t, err)
		require.NotEmpty(t, made.ID)
		require.Equal(t, d.clock.Now(), made.Written)
		stored, err := d.records.Get(t.Context(), "acme", "task", made.ID)
		require.NoError(t, err)
		require.Equal(t, stored, made, "an answer has all that is stored")
		got, err := r.Get(t.Context(), "task", made.ID)
		require.NoError(t, err)
		require.Equal(t, made, got)

		d.clock.Pass(time.Second)
		changed, err := r.Update(t.Context(), "task", made.ID, json.RawMessage(`{"title":"paint it","color":"red"}`), rpc.AtRevision(made.Revision))
		require.NoError(t, err)
		require.Equal(t, "paint it", fieldOf(t, changed, "title"))
		require.Equal(t, "red", fieldOf(t, changed, "color"))
		require.Equal(t, made.Ordinal, changed.Ordinal)
		require.Greater(t, changed.Revision, made.Revision)
		same, err := r.Update(t.Context(), "task", made.ID, json.RawMessage(`{"color":"red"}`))
		require.NoError(t, err)
		require.Equal(t, changed.Revision, same.Revision, "nothing has changed")

		var was []string
		for d, err := range r.History(t.Context(), "task", made.ID) {
			require.NoError(t, err)
			was = append(was, fieldOf(t, d, "title").(string))
		}
		require.Equal(t, []string{"paint", "paint it"}, was)

		removed, err := r.Delete(t.Context(), "task", made.ID, rpc.AtRevision(changed.Revision))
		require.NoError(t, err)
		require.Equal(t, string(changed.JSON), string(removed.JSON))
		_, err = r.Get(t.Context(), "task", made.ID)
		require.ErrorIs(t, err, rpc.ErrNotFound)
		require.ErrorIs(t, err, record.ErrNotFound)
		require.Equal(t, codes.NotFound, status.Code(err))
		var last rpc.Doc
		for last, err = range r.History(t.Context(), "task", made.ID) {
			require.NoError(t, err)
		}
		require.Nil(t, last.JSON, "the revision that removed it has no document")
		for _, err = range r.History(t.Context(), "task", "tsk-20260301-nobody") {
		}
		require.ErrorIs(t, err, rpc.ErrNotFound)
	})
}

// Documents of any length come over, and what no frame takes leaves the connection as it is.
func TestLongDocumentsOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startRecords(t, Options{}, kv.Quota{})
		r := d.dialAs(t, f).Records("acme")
		for _, length := range []int{15 << 10, 17 << 10, 500 << 10} {
			made, err := r.Create(t.Context(), "task", task("a", "more", strings.Repeat("x", length)))
			require.NoError(t, err)
			require.Len(t, fieldOf(t, made, "more"), length)
		}
		_, err := r.Create(t.Context(), "task", task("a", "more", strings.Repeat("x", record.MaxDocument)))
		require.ErrorIs(t, err, record.ErrTooLarge)
		_, err = r.Create(t.Context(), "task", task("a", "more", strings.Repeat("x", frame.MaxPayload)))
		require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
		_, err = r.Create(t.Context(), "task", task("after that"))
		require.NoError(t, err)
	})
}

func TestListsOfRecordsOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		c := startRecords(t, Options{}, kv.Quota{}).dialAs(t, f)
		r := c.Records("acme")
		var ids []string
		for n := range 50 {
			owner := []string{"user:ann", "user:bob"}[n%2]
			made, err := r.Create(t.Context(), "task", task(fmt.Sprint(n), "owner", owner, "priority", n%3, "revoked", n == 49), rpc.RecordDurability(rpc.WAL))
			require.NoError(t, err)
			ids = append(ids, made.ID)
		}
		_, err := c.Records("other").Create(t.Context(), "task", task("theirs"))
		require.NoError(t, err)
		titles := func(q rpc.RecordQuery) (list []string) {
			for d, err := range r.All(t.Context(), "task", q) {
				require.NoError(t, err)
				list = append(list, fieldOf(t, d, "title").(string))
			}
			return list
		}
		var all, bobs []string
		for n := range 50 {
			if all = append(all, fmt.Sprint(n)); n%2 == 1 && n%3 == 2 && n != 49 {
				bobs = append(bobs, fmt.Sprint(n))
			}
		}
		require.Equal(t, all[:49], titles(rpc.RecordQuery{}))
		require.Equal(t, all, titles(rpc.RecordQuery{All: true}))
		require.Equal(t, all[:7], titles(rpc.RecordQuery{Limit: 7}))
		require.Equal(t, []string{"48", "47"}, titles(rpc.RecordQuery{Reverse: true, Limit: 2}))
		byTwo := []rpc.RecordFilter{
			{Index: "by_owner", Equal: []json.RawMessage{json.RawMessage(`"user:bob"`)}},
			{Index: "by_priority", From: json.RawMessage("2"), To: json.RawMessage("3")},
		}
		require.Equal(t, bobs, titles(rpc.RecordQuery{Filters: byTwo}))

		first, err := r.List(t.Context(), "task", rpc.RecordQuery{Limit: 2})
		require.NoError(t, err)
		require.Len(t, first.Docs, 2)
		second, err := r.List(t.Context(), "task", rpc.RecordQuery{Limit: 1, Cursor: first.Next})
		require.NoError(t, err)
		require.Equal(t, ids[2], second.Docs[0].ID)
		_, err = r.List(t.Context(), "task", rpc.RecordQuery{Cursor: first.Next, Reverse: true})
		require.ErrorIs(t, err, record.ErrInvalidCursor)

		found, err := r.Lookup(t.Context(), "task:by_owner:user:ann")
		require.NoError(t, err)
		var named []string
		require.NoError(t, json.Unmarshal(found, &named))
		require.Len(t, named, 25)
		found, err = r.Lookup(t.Context(), "task:id:"+ids[3])
		require.NoError(t, err)
		require.Contains(t, string(found), `"title":"3"`)
		_, err = r.Lookup(t.Context(), "task:id:tsk-20260301-nobody")
		require.ErrorIs(t, err, rpc.ErrNotFound)
		_, err = r.Lookup(t.Context(), "nothing:of:the:kind")
		require.ErrorIs(t, err, record.ErrInvalidKey)
	})
}

// Each refusal has its code, its fields and the gRPC code of its kind, on the wire as in
// process.
func TestRefusalsOfRecordsKeepTheirCodesOverTheSocket(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startRecords(t, Options{}, kv.Quota{Keys: 3})
		r := d.dialAs(t, f).Records("acme")
		made, err := r.Create(t.Context(), "task", task("one"))
		require.NoError(t, err)
		changed, err := r.Update(t.Context(), "task", made.ID, json.RawMessage(`{"title":"two"}`))
		require.NoError(t, err)
		create := func(doc any) error {
			_, err := r.Create(t.Context(), "task", doc)
			return err
		}
		update := func(id, patch string, with ...rpc.RecordOption) error {
			_, err := r.Update(t.Context(), "task", id, json.RawMessage(patch), with...)
			return err
		}
		_, moved := r.Transition(t.Context(), "task", made.ID, "blocked", nil)
		_, removed := r.Delete(t.Context(), "task", made.ID, rpc.AtRevision(99))
		_, unknown := r.Get(t.Context(), "nothing", "x")
		for name, c := range map[string]struct {
			err   error
			code  record.Code
			field string
			grpc  codes.Code
		}{
			"document":   {create(task("")), record.CodeValidation, "title", codes.InvalidArgument},
			"no object":  {create([]int{1}), record.CodeValidation, "doc", codes.InvalidArgument},
			"reserved":   {create(task("x", "owner", "by_owner:x")), record.CodeReserved, "owner", codes.InvalidArgument},
			"large":      {create(task("x", "more", strings.Repeat("x", record.MaxDocument))), record.CodeTooLarge, "doc", codes.InvalidArgument},
			"taken":      {create(task("x", "task_id", made.ID)), record.CodeAlreadyExists, "task_id", codes.AlreadyExists},
			"missing":    {update("tsk-20260301-nobody", "{}"), record.CodeNotFound, "id", codes.NotFound},
			"immutable":  {update(made.ID, `{"task_id":"tsk-20260301-other1"}`), record.CodeImmutable, "task_id", codes.FailedPrecondition},
			"revision":   {update(made.ID, `{"title":"three"}`, rpc.AtRevision(made.Revision)), record.CodeConflict, "revision", codes.Aborted},
			"removal":    {removed, record.CodeConflict, "revision", codes.Aborted},
			"state":      {moved, record.CodeIllegalTransition, "status", codes.FailedPrecondition},
			"collection": {unknown, record.CodeUnknownCollection, "collection", codes.InvalidArgument},
		} {
			var refusal *record.Error
			require.ErrorAs(t, c.err, &refusal, name)
			require.Equal(t, c.code, refusal.Code, name)
			require.Equal(t, c.field, refusal.Field, name)
			require.NotEmpty(t, refusal.Reason, name)
			require.Equal(t, c.grpc, status.Code(c.err), name)
			if c.code != record.CodeUnknownCollection {
				require.Equal(t, "task", refusal.Collection, name)
			}
			if c.code == record.CodeConflict {
				require.Equal(t, changed.Revision, refusal.Revision, name)
			}
			if c.code == record.CodeTooLarge {
				require.Equal(t, uint64(record.MaxDocument), refusal.Limit, name)
				require.Greater(t, refusal.Have, refusal.Limit, name)
			}
		}
		_, get := r.Get(t.Context(), "task", "\xff")
		var history error
		for _, history = range r.History(t.Context(), "\xff", "x") {
		}
		for name, err := range map[string]error{"id": get, "collection": history} {
			require.ErrorIs(t, err, rpc.ErrRequest, name)
			require.ErrorContains(t, err, name+": it is not UTF-8")
		}
		require.NoError(t, create(task("2")))
		require.NoError(t, create(task("3")))
		full := create(task("4"))
		var refusal *record.Error
		require.ErrorAs(t, full, &refusal)
		require.Equal(t, record.CodeQuotaExhausted, refusal.Code)
		require.Equal(t, codes.ResourceExhausted, status.Code(full))
	})
}

func TestTransitionsAndArchivesOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startRecords(t, Options{}, kv.Quota{})
		c := d.dialAs(t, f)
		r := c.Records("acme")
		made, err := r.Create(t.Context(), "task", task("one"))
		require.NoError(t, err)
		done, err := r.Transition(t.Context(), "task", made.ID, "done", map[string]any{"title": "ready"}, rpc.AtRevision(made.Revision))
		require.NoError(t, err)
		require.Equal(t, []any{"done", "ready"}, []any{fieldOf(t, done, "status"), fieldOf(t, done, "title")})
		require.NotEmpty(t, fieldOf(t, done, "done_at"))
		d.clock.Pass(48 * time.Hour)
		moved, err := r.PutAside(t.Context(), "task")
		require.NoError(t, err)
		require.Equal(t, 1, moved)
		_, err = r.Get(t.Context(), "task.archive", made.ID)
		require.NoError(t, err)

		sets, err := c.Collections(t.Context())
		require.NoError(t, err)
		require.Equal(t, []rpc.Collection{{Name: "task", About: "What somebody is to do."}, {Name: "task.archive", About: "What somebody is to do."}}, sets)
		for _, set := range sets {
			text, err := c.RecordSchema(t.Context(), set.Name)
			require.NoError(t, err)
			declared, err := record.Parse(text)
			require.NoError(t, err)
			require.Equal(t, set.Name, declared.Name)
		}
		_, err = c.RecordSchema(t.Context(), "nothing")
		require.ErrorIs(t, err, record.ErrUnknownCollection)
		s, err := c.Status(t.Context())
		require.NoError(t, err)
		require.Contains(t, s.GetFeatures(), "record")
	})
}

func TestExportsAndImportsOfRecordsOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		c := startRecords(t, Options{}, kv.Quota{}).dialAs(t, f)
		r := c.Records("acme")
		const docs = 700 // of several batches, messages and pages
		for n := range docs {
			_, err := r.Create(t.Context(), "task", task(fmt.Sprint(n), "more", strings.Repeat("x", 300)), rpc.RecordDurability(rpc.WAL))
			require.NoError(t, err)
		}
		lines := func(r *rpc.Records) (all string) {
			for doc, err := range r.Export(t.Context(), "task") {
				require.NoError(t, err)
				all += string(doc) + "\n"
			}
			return all
		}
		text := lines(r)
		require.Equal(t, docs, strings.Count(text, "\n"))
		other := c.Records("other")
		stored, err := other.Import(t.Context(), "task", strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, docs, stored)
		require.Equal(t, text, lines(other), "in the same order")
		require.Empty(t, lines(c.Records("nobody")))

		_, err = other.Import(t.Context(), "task", strings.NewReader(strings.Split(text, "\n")[0]+"\n{}\n"))
		var refusal *record.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "line 2: task_id", refusal.Field)
		_, err = other.Import(t.Context(), "task.archive", strings.NewReader(text))
		require.ErrorIs(t, err, record.ErrImmutable)
		broken := errors.New("the disk is gone")
		_, err = other.Import(t.Context(), "task", &failing{strings.NewReader(text), broken})
		require.ErrorIs(t, err, broken)
		for _, err = range r.Export(t.Context(), "nothing") {
		}
		require.ErrorIs(t, err, record.ErrUnknownCollection)
		for _, err := range r.Export(t.Context(), "task") {
			require.NoError(t, err)
			break // ends the stream
		}
	})
}

// What an import is asked to keep, or only to look at, comes over the socket, and what it came to
// comes back.
func TestImportsOfRecordsKeepOrOnlyLook(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		c := startRecords(t, Options{}, kv.Quota{}).dialAs(t, f)
		r, ctx := c.Records("acme"), t.Context()
		var lines, ids []string
		for _, title := range []string{"a", "b"} {
			d, err := c.Records("from").Create(ctx, "task", task(title))
			require.NoError(t, err)
			lines, ids = append(lines, string(d.JSON)+"\n"), append(ids, d.ID)
		}
		load := func(o record.ImportOptions, lines ...string) record.Imported {
			n, err := r.ImportWith(ctx, "task", strings.NewReader(strings.Join(lines, "")), o)
			require.NoError(t, err)
			return n
		}
		title := func(id string) string {
			d, err := r.Get(ctx, "task", id)
			require.NoError(t, err)
			return string(document.Field(d.JSON, document.Path{"title"}))
		}
		require.Equal(t, record.Imported{Stored: 2}, load(record.ImportOptions{Dry: true}, lines...))
		_, err := r.Get(ctx, "task", ids[0])
		require.ErrorIs(t, err, record.ErrNotFound, "nothing was stored")
		require.Equal(t, record.Imported{Stored: 1}, load(record.ImportOptions{Keep: true}, lines[0]))

		other := strings.Replace(lines[0], `"a"`, `"x"`, 1)
		kept := record.Imported{Kept: 1, Stored: 1, IDs: ids[:1]}
		require.Equal(t, kept, load(record.ImportOptions{Keep: true, Dry: true}, other, lines[1]))
		require.Equal(t, kept, load(record.ImportOptions{Keep: true}, other, lines[1]))
		require.Equal(t, `"a"`, title(ids[0]))
		require.Equal(t, record.Imported{Stored: 1, Same: 1}, load(record.ImportOptions{Dry: true}, other, lines[1]))
		require.Equal(t, `"a"`, title(ids[0]))
		require.Equal(t, record.Imported{Stored: 1, Same: 1}, load(record.ImportOptions{}, other, lines[1]))
		require.Equal(t, `"x"`, title(ids[0]))
	})
}

// failing reads what it has, and then fails.
type failing struct {
	*strings.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil {
		err = f.err
	}
	return n, err
}

func TestImportsThatAreNotWellFormedAreRefused(t *testing.T) {
	d := startRecords(t, Options{}, kv.Quota{})
	c := stoav1.NewRecordClient(d.bare(t))
	header := &stoav1.RecordImportRequest{Message: &stoav1.RecordImportRequest_Header{Header: &stoav1.RecordImportHeader{Tenant: []byte("acme"), Collection: "task"}}}
	lines := func(n int) *stoav1.RecordImportRequest {
		return &stoav1.RecordImportRequest{Message: &stoav1.RecordImportRequest_Lines{Lines: make([]byte, n)}}
	}
	for name, sent := range map[string]struct {
		messages []*stoav1.RecordImportRequest
		kind     stoav1.ErrorKind
	}{
		"nothing":     {nil, stoav1.ErrorKind_ERROR_KIND_REQUEST},
		"lines first": {[]*stoav1.RecordImportRequest{lines(1)}, stoav1.ErrorKind_ERROR_KIND_REQUEST},
		"two headers": {[]*stoav1.RecordImportRequest{header, header}, stoav1.ErrorKind_ERROR_KIND_REQUEST},
		"a large one": {[]*stoav1.RecordImportRequest{header, lines(maxLines + 1)}, stoav1.ErrorKind_ERROR_KIND_TOO_LARGE},
	} {
		s, err := c.Import(t.Context())
		require.NoError(t, err)
		for _, m := range sent.messages {
			if s.Send(m) != nil { // the daemon has ended it
				break
			}
		}
		_, err = s.CloseAndRecv()
		var e *fault.Error
		require.ErrorAs(t, fault.FromStatus(err), &e, name)
		require.Equal(t, sent.kind, e.Kind, name)
	}
}

// eventLine is an event of records as a line.
func eventLine(e rpc.RecordEvent) string {
	return fmt.Sprintf("%s %d %s %t", e.Kind, e.Revision, e.Doc.ID, e.Doc.JSON != nil)
}

func TestWatchesOfRecordsGoOnWhereTheirDaemonWasAway(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		eng := mem.New()
		store, records := openRecords(t, eng, kvtest.New(), kv.Quota{})
		path := socketDir(t) + "/s"
		up := func() func() {
			s, err := New(eng, Options{Records: records})
			require.NoError(t, err)
			ln, err := socket.Listen(path, socket.Options{})
			require.NoError(t, err)
			return serve(t, s, ln)
		}
		stop := up()
		t.Cleanup(func() {
			stop()
			require.NoError(t, store.Close())
			require.NoError(t, eng.Close())
		})
		create := func(id string) {
			text, err := json.Marshal(task(id, "task_id", id))
			require.NoError(t, err)
			_, err = records.Create(t.Context(), "acme", "task", text, record.WriteOptions{Durability: engine.WAL})
			require.NoError(t, err)
		}
		const a, b, c = "tsk-20260301-aaaaaa", "tsk-20260301-bbbbbb", "tsk-20260301-cccccc"
		create(a)
		client, err := rpc.Dial(t.Context(), path, rpc.WithFraming(f))
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		r := client.Records("acme")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var got []string
		for e, err := range r.Watch(ctx, "task", "") {
			require.NoError(t, err)
			got = append(got, eventLine(e))
			switch len(got) {
			case 2: // it has begun
				create(b)
			case 3:
				stop()
				create(c)
				_, err := records.Delete(ctx, "acme", "task", a, record.UpdateOptions{})
				require.NoError(t, err)
				stop = up()
			}
			if len(got) == 6 {
				break
			}
		}
		require.Equal(t, []string{"put 1 " + a + " true", "synced 1  false", "put 2 " + b + " true", "put 3 " + c + " true", "delete 4 " + a + " false", "synced 4  false"}, got)

		got = nil
		for e, err := range r.Watch(ctx, "task", b) {
			require.NoError(t, err)
			if got = append(got, eventLine(e)); e.Kind == rpc.EventSynced {
				break
			}
		}
		require.Equal(t, []string{"put 2 " + b + " true", "synced 4  false"}, got, "of one record")
		for _, err = range r.Watch(ctx, "nothing", "") {
		}
		require.ErrorIs(t, err, record.ErrUnknownCollection)
		for _, err = range r.Watch(ctx, "task", "", rpc.WithPrefix("x")) {
		}
		require.ErrorIs(t, err, rpc.ErrRequest)
	})
}

// What a user who is bound to a tenant may do with records ends at that tenant.
func TestRecordsOfOtherTenantsAreNotForUsersWhoAreBound(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startRecords(t, Options{Peers: boundTo("mine")}, kv.Quota{})
		text, err := json.Marshal(task("theirs"))
		require.NoError(t, err)
		foreign, err := d.records.Create(t.Context(), "theirs", "task", text, record.WriteOptions{})
		require.NoError(t, err)
		c := d.dialAs(t, f)
		made, err := c.Records("").Create(t.Context(), "task", task("mine"))
		require.NoError(t, err)
		_, err = c.Records("mine").Get(t.Context(), "task", made.ID)
		require.NoError(t, err)
		stored, err := c.Records("").Import(t.Context(), "task", strings.NewReader(string(made.JSON)+"\n"))
		require.NoError(t, err)
		require.Equal(t, 1, stored)
		_, err = c.Collections(t.Context())
		require.NoError(t, err)
		_, err = c.RecordSchema(t.Context(), "task")
		require.NoError(t, err)

		theirs := c.Records("theirs")
		_, get := theirs.Get(t.Context(), "task", foreign.ID)
		_, create := theirs.Create(t.Context(), "task", task("x"))
		_, update := theirs.Update(t.Context(), "task", foreign.ID, json.RawMessage("{}"))
		_, move := theirs.Transition(t.Context(), "task", foreign.ID, "done", nil)
		_, remove := theirs.Delete(t.Context(), "task", foreign.ID)
		_, list := theirs.List(t.Context(), "task", rpc.RecordQuery{})
		_, lookup := theirs.Lookup(t.Context(), "task:id:"+foreign.ID)
		_, load := theirs.Import(t.Context(), "task", strings.NewReader("{}\n"))
		_, aside := theirs.PutAside(t.Context(), "task")
		var watch, history, export error
		for _, watch = range theirs.Watch(t.Context(), "task", "") {
		}
		for _, history = range theirs.History(t.Context(), "task", foreign.ID) {
		}
		for _, export = range theirs.Export(t.Context(), "task") {
		}
		for name, err := range map[string]error{"get": get, "create": create, "update": update, "transition": move, "delete": remove, "list": list,
			"lookup": lookup, "import": load, "put aside": aside, "watch": watch, "history": history, "export": export} {
			require.ErrorIs(t, err, rpc.ErrBound, name)
			require.Equal(t, codes.PermissionDenied, status.Code(err), name)
		}
	})
}

func TestRowsOfRecordsAreNotWrittenByOthers(t *testing.T) {
	d := startRecords(t, Options{}, kv.Quota{})
	c := d.dial(t)
	_, err := c.Records("acme").Create(t.Context(), "task", task("x"))
	require.NoError(t, err)
	it, err := c.Store(t.Context()).Iterate(column.Generic, engine.Range{End: []byte{1}})
	require.NoError(t, err)
	rows := 0
	for ; it.Next(); rows++ {
		var b engine.Batch
		b.Delete(column.Generic, it.Key())
		require.ErrorIs(t, c.Store(t.Context()).Apply(&b), rpc.ErrOwned)
	}
	require.NoError(t, it.Err())
	it.Close()
	require.NotZero(t, rows)
}

func TestStreamsOfRecordsAreCounted(t *testing.T) {
	d := startRecords(t, Options{MaxKVStreams: 1}, kv.Quota{})
	c := d.dial(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begun := false
	for _, err := range c.Records("acme").Watch(ctx, "task", "", rpc.Once()) {
		require.NoError(t, err)
		begun = true
		_, err = c.Records("acme").Import(ctx, "task", strings.NewReader(""))
		require.ErrorIs(t, err, rpc.ErrBusy)
		break
	}
	require.True(t, begun)
}
