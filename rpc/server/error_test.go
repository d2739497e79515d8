package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/link"
	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestEngineErrorsKeepTheirIdentity(t *testing.T) {
	stub := newStub()
	c := start(t, stub, Options{}).dial(t)
	for _, want := range []error{
		engine.ErrReadOnly, engine.ErrNoSpace, engine.ErrCorrupt, engine.ErrClosed,
		engine.ErrUnsupported, engine.ErrBatch, engine.ErrTooLarge, engine.ErrConflict,
	} {
		stub.failGet(func() error {
			if want == engine.ErrConflict {
				return &engine.Conflict{Column: column.Group, Key: []byte{0x20, 1}, Absent: true}
			}
			return fmt.Errorf("get: %w: because", want)
		})
		_, err := c.Store(t.Context()).Get(nil, column.Generic, row("a"))
		require.ErrorIs(t, err, want)
		var e *rpc.Error
		require.ErrorAs(t, err, &e)
		require.NotEqual(t, codes.Unknown, status.Code(err))
	}
}

// A cluster has errors of its own. A caller is told by them what it may do: nothing was made, and it may try again, or
// nobody knows, and it has to look first.
func TestErrorsOfAClusterSayWhetherToTryAgain(t *testing.T) {
	stub := newStub()
	c := start(t, stub, Options{}).dial(t)
	for is, want := range map[error]error{
		engine.ErrUnavailable: rpc.ErrBusy, engine.ErrMoved: rpc.ErrBusy, engine.ErrUndetermined: rpc.ErrUnavailable,
	} {
		stub.failGet(func() error { return fmt.Errorf("tikv: %w: region 7", is) })
		_, err := c.Store(t.Context()).Get(nil, column.Generic, row("a"))
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, is.Error()+": region 7")
	}
}

func TestConflictNamesTheRow(t *testing.T) {
	c := start(t, nil, Options{}).dial(t)
	var b engine.Batch
	b.ExpectAbsent(column.Generic, row("a"))
	b.Put(column.Generic, row("a"), []byte("1"))
	require.NoError(t, c.Store(t.Context()).Apply(&b))
	err := c.Store(t.Context()).Apply(&b)
	var conflict *engine.Conflict
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, &engine.Conflict{Column: column.Generic, Key: row("a"), Absent: true}, conflict)
	require.ErrorIs(t, err, engine.ErrConflict)
	require.Equal(t, codes.Aborted, status.Code(err))
}

func TestRowsThatAreNotOfTheSchemaAreRefused(t *testing.T) {
	c := start(t, nil, Options{}).dial(t)
	var b engine.Batch
	b.Put(column.Generic, row("good"), nil)
	b.Put(column.Group, []byte{0x20, 1, 2}, nil)
	err := c.Store(t.Context()).Apply(&b)
	var ke *keys.Error
	require.ErrorAs(t, err, &ke)
	require.Equal(t, "GroupMeta", ke.Type)
	require.Equal(t, column.Group, ke.Column)
	require.Equal(t, 3, ke.Offset)
	var e *rpc.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "1", e.Fields[fault.FieldChange])
	require.Equal(t, "200102", e.Fields[fault.FieldKey])
	_, err = c.Store(t.Context()).Get(nil, column.Generic, row("good"))
	require.ErrorIs(t, err, engine.ErrNotFound, "nothing was written")

	b.Reset()
	b.Put(column.Config, make([]byte, 32), make([]byte, 15))
	err = c.Store(t.Context()).Apply(&b)
	var ve *codec.Error
	require.ErrorAs(t, err, &ve)
	require.Equal(t, "ContextConfigValue", ve.Type)
	require.ErrorIs(t, err, codec.ErrMalformed)

	_, err = c.Store(t.Context()).Get(nil, column.Group, []byte{0x27})
	require.ErrorIs(t, err, keys.ErrLayout)
	_, err = c.Store(t.Context()).Get(nil, 77, row("a"))
	require.ErrorIs(t, err, rpc.ErrRequest)
}

func TestRangeDeletionsThatAreHardlyMeantAreRefused(t *testing.T) {
	c := start(t, nil, Options{}).dial(t)
	for name, r := range map[string]struct {
		col        column.Column
		start, end []byte
		ok         bool
	}{
		"a whole column":        {column.State, nil, []byte{0xFF}, false},
		"two prefixes of Group": {column.Group, []byte{0x21}, []byte{0x23}, false},
		"one prefix of Group":   {column.Group, []byte{0x21}, []byte{0x22}, true},
		"two scopes":            {column.Generic, row(""), []byte("stoa.tesu"), false},
		"less than a scope":     {column.Generic, []byte("stoa"), []byte("stob"), false},
		"one scope":             {column.Generic, row(""), engine.Successor(row("")), true},
		"contexts":              {column.State, []byte{1}, []byte{9}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var b engine.Batch
			b.DeleteRange(r.col, r.start, r.end)
			err := c.Store(t.Context()).Apply(&b)
			if r.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, keys.ErrLayout)
		})
	}
}

func TestFaultsAreLoggedAndNotTold(t *testing.T) {
	var log bytes.Buffer
	stub := newStub()
	d := start(t, stub, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := d.dial(t)
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("secret /var/lib/stoa/000012.sst") },
		"panic": func() error { panic("secret /var/lib/stoa/000012.sst") },
	} {
		t.Run(name, func(t *testing.T) {
			log.Reset()
			stub.failGet(fail)
			_, err := c.Store(t.Context()).Get(nil, column.Generic, row("a"))
			require.ErrorIs(t, err, rpc.ErrInternal)
			require.NotContains(t, err.Error(), "secret")
			var e *rpc.Error
			require.ErrorAs(t, err, &e)
			require.NotEmpty(t, e.Fields[fault.FieldIncident])
			require.Contains(t, log.String(), e.Fields[fault.FieldIncident])
			require.Contains(t, log.String(), "000012.sst")
			stub.failGet(nil)
			_, err = c.Store(t.Context()).Get(nil, column.Generic, row("a"))
			require.ErrorIs(t, err, engine.ErrNotFound, "the daemon goes on")
		})
	}
}

func TestErrorsOfTheEngineDoNotTellPaths(t *testing.T) {
	stub := newStub()
	c := start(t, stub, Options{}).dial(t)
	stub.failGet(func() error {
		return fmt.Errorf("%w: /var/lib/stoa data/000012.sst: block checksum mismatch", engine.ErrCorrupt)
	})
	_, err := c.Store(t.Context()).Get(nil, column.Generic, row("a"))
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.NotContains(t, err.Error(), "/var")
	require.Contains(t, err.Error(), "000012.sst: block checksum mismatch")
}

func TestLongKeysAreCutInErrors(t *testing.T) {
	c := start(t, nil, Options{}).dial(t)
	long := append(make([]byte, 32), bytes.Repeat([]byte{0xAB}, 60000)...)
	var b engine.Batch
	b.ExpectAbsent(column.State, long)
	b.Put(column.State, long, nil)
	require.NoError(t, c.Store(t.Context()).Apply(&b))
	err := c.Store(t.Context()).Apply(&b)
	require.ErrorIs(t, err, engine.ErrConflict)
	var e *rpc.Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Fields[fault.FieldKey], 2048)
	require.Equal(t, "60032", e.Fields[fault.FieldKeySize])
	require.Less(t, len(err.Error()), 400)
}

func TestMalformedBatchesAndLookupsAreRefused(t *testing.T) {
	store := stoav1.NewStoreClient(start(t, nil, Options{}).bare(t))
	for name, r := range map[string]*stoav1.ApplyRequest{
		"short":        {Ops: []byte{1, 2, 3}},
		"unknown tag":  {Ops: append(make([]byte, 8), 1, 0, 0, 0, 0x77)},
		"expectations": {Expectations: []byte{9}},
	} {
		_, err := store.Apply(t.Context(), r)
		require.ErrorIs(t, fault.FromStatus(err), engine.ErrBatch, name)
		require.Equal(t, codes.InvalidArgument, status.Code(err))
	}
	_, err := store.Apply(t.Context(), &stoav1.ApplyRequest{Durability: 9})
	require.ErrorIs(t, fault.FromStatus(err), rpc.ErrRequest)
	for _, packed := range [][]byte{{10}, {0, 0}, {12, 0}, {10, 5, 1}, {10, 0x80, 0x00}} {
		_, err := store.MultiGet(t.Context(), &stoav1.MultiGetRequest{Lookups: packed})
		require.ErrorIs(t, fault.FromStatus(err), engine.ErrBatch, "%x", packed)
	}
}

// streamedRows of 4,000 bytes are about what a daemon sends before it is read.
const streamedRows = 1000

func TestDeadlinesAndCancellationReachTheServer(t *testing.T) {
	stub := newStub()
	c := start(t, stub, Options{}).dial(t)
	release := make(chan struct{})
	stub.failGet(func() error { <-release; return nil })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Store(ctx).Get(nil, column.Generic, row("a"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(release)
	stub.failGet(nil)

	for i := range 2 * streamedRows {
		put(t, c.Store(t.Context()), fmt.Sprintf("%05d", i), strings.Repeat("x", 4000))
	}
	ctx, cancel = context.WithCancel(t.Context())
	it, err := c.Store(ctx).Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	require.True(t, it.Next())
	cancel()
	for it.Next() {
	}
	require.ErrorIs(t, it.Err(), context.Canceled)
	it.Close()
	require.Eventually(t, func() bool { return stub.iterators.Load() == 0 }, patience, time.Millisecond)
}

// deaf is a context that calls nobody when it ends, as one does whose callers do not
// come to run.
type deaf struct{ context.Context }

func (deaf) AfterFunc(func()) func() bool { return func() bool { return true } }
func (deaf) Value(any) any                { return nil } // who asks would find the context within

func TestAStreamEndsWithItsContextBeforeWhoWatchesThatRuns(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	for i := range 2 * streamedRows {
		put(t, c.Store(t.Context()), fmt.Sprintf("%05d", i), strings.Repeat("x", 4000))
	}
	conn, err := link.Dial(t.Context(), d.path, nil)
	require.NoError(t, err)
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := conn.Open(deaf{ctx}, 104, false) // Store.Scan
	require.NoError(t, err)
	require.NoError(t, stream.SendMsg(&stoav1.ScanRequest{Column: stoav1.Column_COLUMN_GENERIC}))
	var page stoav1.ScanResponse
	require.NoError(t, stream.RecvMsg(&page))
	cancel()
	for err = nil; err == nil; {
		err = stream.RecvMsg(&page)
	}
	require.Equal(t, codes.Canceled, status.Code(err), "%v", err)
}

func TestCheckpointErrorsNameTheDirectory(t *testing.T) {
	stub := newStub()
	c := start(t, stub, Options{}).dial(t)
	dir := socketDir(t)
	require.ErrorIs(t, c.Checkpoint(t.Context(), "relative"), rpc.ErrRequest)
	require.ErrorIs(t, c.Checkpoint(t.Context(), dir), rpc.ErrRequest)
	require.ErrorIs(t, c.Checkpoint(t.Context(), dir+"/new"), engine.ErrUnsupported)
	for _, cause := range []error{fs.ErrExist, fs.ErrNotExist, fs.ErrPermission, engine.ErrPlace} {
		stub.check = func(string) error { return &fs.PathError{Op: "mkdir", Path: "/x", Err: cause} }
		err := c.Checkpoint(t.Context(), dir+"/new")
		require.ErrorIs(t, err, rpc.ErrRequest)
		require.ErrorContains(t, err, "dir: ")
	}
	stub.check = func(string) error { return nil }
	require.NoError(t, c.Checkpoint(t.Context(), dir+"/new"))
}
