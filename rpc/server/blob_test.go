package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

const chunk = codec.ChunkSize

func bytesOf(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}).Read(b)
	return b
}

func contentID(content []byte) codec.BlobID { return sha256.Sum256(content) }

// withSpool returns a store of the blobs in eng that has a spool.
func withSpool(t testing.TB, eng engine.Engine) *blob.Store {
	t.Helper()
	b, err := blob.Open(eng, blob.Options{SpoolDir: filepath.Join(t.TempDir(), "spool")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func mustPut(t testing.TB, b *blob.Store, content []byte) codec.BlobID {
	t.Helper()
	stored, _, err := b.Put(t.Context(), bytes.NewReader(content), blob.PutOptions{ID: contentID(content)})
	require.NoError(t, err)
	return stored.ID
}

// blobRows returns the keys of the Blobs column with the lengths of their values.
func blobRows(t testing.TB, r engine.Reader) (rows []string) {
	t.Helper()
	it, err := r.Iterate(column.Blobs, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		rows = append(rows, fmt.Sprintf("%x %d", it.Key(), len(it.Value())))
	}
	require.NoError(t, it.Err())
	return rows
}

func putChunk(t require.TestingT, w engine.Writer, id codec.BlobID, index uint32, value []byte) {
	var b engine.Batch
	engine.Put(&b, keys.BlobChunk{Blob: id, Index: index}, codec.BlobChunk(value))
	require.NoError(t, w.Apply(&b))
}

// startBlobs serves the blobs of an engine in memory, with a spool; the tests of package
// blob run on RocksDB too.
func startBlobs(t *testing.T) *testDaemon {
	t.Helper()
	eng := mem.New()
	return start(t, eng, Options{Blobs: withSpool(t, eng)})
}

// noRows waits until the Blobs column is empty.
func noRows(t *testing.T, d *testDaemon) {
	t.Helper()
	require.Eventually(t, func() bool { return len(blobRows(t, d.engine)) == 0 }, patience, time.Millisecond)
}

func TestBlobsOfEverySizeComeBackAsTheyWere(t *testing.T) {
	d := startBlobs(t)
	c, ctx := d.dial(t), t.Context()
	for _, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 10 * chunk} {
		for _, declared := range []bool{true, false} {
			content := bytesOf(n)
			id := contentID(content)
			var o rpc.BlobPutOptions
			if declared {
				o = rpc.BlobPutOptions{ID: id, Size: uint64(n)}
			}
			want := blob.Info{ID: id, Size: uint64(n), Chunks: uint32((n + chunk - 1) / chunk)}
			for _, existed := range []bool{false, true} {
				stored, was, err := c.BlobPut(ctx, bytes.NewReader(content), o)
				require.NoError(t, err)
				require.Equal(t, existed, was)
				require.Equal(t, want, stored)
			}
			require.Len(t, blobRows(t, d.engine), 1+int(want.Chunks))
			found, err := c.BlobStat(ctx, id)
			require.NoError(t, err)
			require.Equal(t, want, found)
			var got bytes.Buffer
			found, err = c.BlobGet(ctx, id, &got, rpc.BlobGetOptions{})
			require.NoError(t, err)
			require.Equal(t, want, found)
			require.True(t, bytes.Equal(content, got.Bytes()))
			require.NoError(t, c.BlobDelete(ctx, id, false))
			require.Empty(t, blobRows(t, d.engine))
		}
	}
}

func TestAPartOfABlobIsReadByOffsetAndLength(t *testing.T) {
	d := startBlobs(t)
	c, ctx := d.dial(t), t.Context()
	const size = 3*chunk + 7
	content := bytesOf(size)
	stored, _, err := c.BlobPut(ctx, bytes.NewReader(content), rpc.BlobPutOptions{})
	require.NoError(t, err)
	for _, part := range [][2]uint64{
		{0, 1}, {0, chunk}, {1, chunk}, {chunk - 1, 2}, {chunk, chunk + 1}, {2*chunk + 5, 0},
		{3 * chunk, 100}, {size - 1, 0}, {size, 0}, {size, 5}, {0, size}, {0, 1 << 63}, {5, 1<<64 - 1},
	} {
		end := uint64(size)
		if part[1] != 0 && part[1] < end-part[0] {
			end = part[0] + part[1]
		}
		var got bytes.Buffer
		_, err := c.BlobGet(ctx, stored.ID, &got, rpc.BlobGetOptions{Offset: part[0], Length: part[1]})
		require.NoError(t, err)
		require.True(t, bytes.Equal(content[part[0]:end], got.Bytes()), "%v", part)
	}
	_, err = c.BlobGet(ctx, stored.ID, io.Discard, rpc.BlobGetOptions{Offset: size + 1})
	require.ErrorIs(t, err, rpc.ErrRequest)
}

func TestContentThatIsNotWhatWasDeclaredIsRefusedAndRemoved(t *testing.T) {
	d := startBlobs(t)
	c, ctx := d.dial(t), t.Context()
	content := bytesOf(2*chunk + 9)
	id, other := contentID(content), contentID(content[1:])
	short := contentID(content[:2*chunk])
	for name, test := range map[string]struct {
		content []byte
		o       rpc.BlobPutOptions
		fields  map[string]string
	}{
		"wrong id": {content, rpc.BlobPutOptions{ID: other},
			map[string]string{"field": "blob_id", "declared": other.String(), "actual": id.String()}},
		"truncated": {content[:2*chunk], rpc.BlobPutOptions{ID: id},
			map[string]string{"field": "blob_id", "declared": id.String(), "actual": short.String()}},
		"shorter": {content[:2*chunk], rpc.BlobPutOptions{ID: id, Size: 2*chunk + 9},
			map[string]string{"field": "size", "declared": "2097161", "actual": "2097152"}},
		"longer": {content, rpc.BlobPutOptions{ID: short, Size: 2 * chunk},
			map[string]string{"field": "size", "declared": "2097152", "actual": "2097161"}},
		"shorter, no id": {content, rpc.BlobPutOptions{Size: 2*chunk + 10},
			map[string]string{"field": "size", "declared": "2097162", "actual": "2097161"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := c.BlobPut(ctx, bytes.NewReader(test.content), test.o)
			require.ErrorIs(t, err, blob.ErrMismatch)
			var e *rpc.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, test.fields, e.Fields)
			require.Contains(t, e.Message, e.Fields["declared"])
			require.Contains(t, e.Message, e.Fields["actual"])
			require.Empty(t, blobRows(t, d.engine))
		})
	}
	t.Run("wrong id of a blob that is there", func(t *testing.T) {
		_, _, err := c.BlobPut(ctx, bytes.NewReader(content), rpc.BlobPutOptions{})
		require.NoError(t, err)
		before := blobRows(t, d.engine)
		_, _, err = c.BlobPut(ctx, bytes.NewReader(content[1:]), rpc.BlobPutOptions{ID: id})
		require.ErrorIs(t, err, blob.ErrMismatch)
		require.Equal(t, before, blobRows(t, d.engine))
	})
}

func TestADeclaredSizeOverTheLimitIsRefusedBeforeAnyContent(t *testing.T) {
	d := start(t, nil, Options{})
	stream, err := stoav1.NewBlobClient(d.bare(t)).Put(t.Context())
	require.NoError(t, err)
	size := uint64(5 << 30)
	require.NoError(t, stream.Send(putHeader(codec.BlobID{1}, &size)))
	require.ErrorIs(t, fault.FromStatus(stream.RecvMsg(new(stoav1.BlobPutResponse))), engine.ErrTooLarge)
}

func putHeader(id codec.BlobID, size *uint64) *stoav1.BlobPutRequest {
	h := &stoav1.BlobPutHeader{Size: size}
	if !id.IsZero() {
		h.BlobId = id[:]
	}
	return &stoav1.BlobPutRequest{Part: &stoav1.BlobPutRequest_Header{Header: h}}
}

func putData(data []byte) *stoav1.BlobPutRequest {
	return &stoav1.BlobPutRequest{Part: &stoav1.BlobPutRequest_Data{Data: data}}
}

func TestUploadsThatMakeNoSenseAreRefused(t *testing.T) {
	d := start(t, nil, Options{})
	for name, test := range map[string]struct {
		messages []*stoav1.BlobPutRequest
		kind     error
	}{
		"nothing":           {nil, rpc.ErrRequest},
		"no header":         {[]*stoav1.BlobPutRequest{putData([]byte("a"))}, rpc.ErrRequest},
		"an empty message":  {[]*stoav1.BlobPutRequest{{}}, rpc.ErrRequest},
		"two headers":       {[]*stoav1.BlobPutRequest{putHeader(codec.BlobID{}, nil), putHeader(codec.BlobID{}, nil)}, rpc.ErrRequest},
		"a short id":        {[]*stoav1.BlobPutRequest{{Part: &stoav1.BlobPutRequest_Header{Header: &stoav1.BlobPutHeader{BlobId: []byte{1}}}}}, rpc.ErrRequest},
		"the id of nothing": {[]*stoav1.BlobPutRequest{{Part: &stoav1.BlobPutRequest_Header{Header: &stoav1.BlobPutHeader{BlobId: make([]byte, 32)}}}}, rpc.ErrRequest},
		"a large message":   {[]*stoav1.BlobPutRequest{putHeader(codec.BlobID{}, nil), putData(make([]byte, chunk+1))}, engine.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := stoav1.NewBlobClient(d.bare(t)).Put(t.Context())
			require.NoError(t, err)
			for _, m := range test.messages {
				if err := stream.Send(m); err != nil {
					require.Equal(t, io.EOF, err)
				}
			}
			_, err = stream.CloseAndRecv()
			require.ErrorIs(t, fault.FromStatus(err), test.kind)
		})
	}
	require.Empty(t, blobRows(t, d.engine))
}

func TestRequestsAboutNoBlobAreRefused(t *testing.T) {
	d := start(t, nil, Options{})
	c, bare, ctx := d.dial(t), stoav1.NewBlobClient(d.bare(t)), t.Context()
	id := codec.BlobID{1}
	_, err := c.BlobStat(ctx, id)
	require.ErrorIs(t, err, engine.ErrNotFound)
	require.Equal(t, codes.NotFound, status.Code(err))
	require.ErrorIs(t, c.BlobDelete(ctx, id, true), engine.ErrNotFound)
	_, err = c.BlobGet(ctx, id, io.Discard, rpc.BlobGetOptions{})
	require.ErrorIs(t, err, engine.ErrNotFound)
	_, err = bare.Stat(ctx, &stoav1.BlobStatRequest{BlobId: []byte("short")})
	require.ErrorIs(t, fault.FromStatus(err), rpc.ErrRequest)
	_, err = bare.Delete(ctx, &stoav1.BlobDeleteRequest{})
	require.ErrorIs(t, fault.FromStatus(err), rpc.ErrRequest)
	_, err = bare.List(ctx, &stoav1.BlobListRequest{After: []byte("short")})
	require.ErrorIs(t, fault.FromStatus(err), rpc.ErrRequest)
	stream, err := bare.Get(ctx, &stoav1.BlobGetRequest{BlobId: make([]byte, 32)})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.ErrorIs(t, fault.FromStatus(err), rpc.ErrRequest)
}

func TestAllBlobsAreListedPageByPage(t *testing.T) {
	d := start(t, nil, Options{})
	want := map[codec.BlobID]uint64{}
	for i := range wire.MaxListPage + 5 {
		content := fmt.Appendf(nil, "blob %d", i)
		want[mustPut(t, d.blobs, content)] = uint64(len(content))
	}
	putChunk(t, d.engine, codec.BlobID{0x80}, 0, []byte("being uploaded"))
	var last codec.BlobID
	for b, err := range d.dial(t).BlobList(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, 1, bytes.Compare(b.ID[:], last[:]))
		require.Equal(t, want[b.ID], b.Size)
		last = b.ID
		delete(want, b.ID)
	}
	require.Empty(t, want)
	bare := stoav1.NewBlobClient(d.bare(t))
	page, err := bare.List(t.Context(), &stoav1.BlobListRequest{Limit: 1 << 31})
	require.NoError(t, err)
	require.Len(t, page.Blobs, wire.MaxListPage)
	page, err = bare.List(t.Context(), &stoav1.BlobListRequest{After: page.Next, Limit: 5})
	require.NoError(t, err)
	require.Len(t, page.Blobs, 5)
	require.Empty(t, page.Next)
	page, err = bare.List(t.Context(), &stoav1.BlobListRequest{After: bytes.Repeat([]byte{0xFF}, 32)})
	require.NoError(t, err)
	require.Empty(t, page.Blobs)
}

func TestWhatAKilledClientHasSentIsRemovedAtOnce(t *testing.T) {
	d := startBlobs(t)
	content := bytesOf(5 * chunk)
	id := contentID(content)
	conn := d.bare(t)
	stream, err := stoav1.NewBlobClient(conn).Put(context.Background())
	require.NoError(t, err)
	require.NoError(t, stream.Send(putHeader(id, nil)))
	for i := range 3 {
		require.NoError(t, stream.Send(putData(content[i*chunk:(i+1)*chunk])))
	}
	require.Eventually(t, func() bool { return len(blobRows(t, d.engine)) == 3 }, patience, time.Millisecond)
	_, err = d.dial(t).BlobStat(t.Context(), id)
	require.ErrorIs(t, err, engine.ErrNotFound, "chunks without a manifest are invisible")
	require.NoError(t, conn.Close())
	noRows(t, d)
	_, existed, err := d.dial(t).BlobPut(t.Context(), bytes.NewReader(content), rpc.BlobPutOptions{ID: id})
	require.NoError(t, err)
	require.False(t, existed)
}

func TestWhatABrokenUploadLeftIsSweptAtTheStart(t *testing.T) {
	eng := mem.New()
	stays := mustPut(t, withSpool(t, eng), bytesOf(10))
	putChunk(t, eng, codec.BlobID{1}, 0, []byte("left"))
	d := start(t, eng, Options{})
	require.Eventually(t, func() bool { return len(blobRows(t, eng)) == 2 }, patience, time.Millisecond)
	_, err := d.dial(t).BlobStat(t.Context(), stays)
	require.NoError(t, err)
}

func TestADownloadOutlivesTheDeletionOfItsBlob(t *testing.T) {
	d := startBlobs(t)
	const chunks = 24 // far more than the windows of a stream hold
	content := bytesOf(chunks * chunk)
	c, ctx := d.dial(t), t.Context()
	stored, _, err := c.BlobPut(ctx, bytes.NewReader(content), rpc.BlobPutOptions{})
	require.NoError(t, err)
	stream, err := stoav1.NewBlobClient(d.bare(t)).Get(ctx, &stoav1.BlobGetRequest{BlobId: stored.ID[:]})
	require.NoError(t, err)
	m, err := stream.Recv()
	require.NoError(t, err)
	require.EqualValues(t, chunks*chunk, m.GetInfo().GetSize())
	require.NoError(t, c.BlobDelete(ctx, stored.ID, false))
	require.Empty(t, blobRows(t, d.engine))
	sum := sha256.New()
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		sum.Write(m.GetData())
	}
	require.Equal(t, stored.ID[:], sum.Sum(nil))
}

func TestDamageOfABlobReachesTheClient(t *testing.T) {
	d := startBlobs(t)
	c := d.dial(t)
	content := bytesOf(chunk + 10)
	id := mustPut(t, d.blobs, content)
	putChunk(t, d.engine, id, 1, make([]byte, 10))
	_, err := c.BlobGet(t.Context(), id, io.Discard, rpc.BlobGetOptions{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.Equal(t, codes.DataLoss, status.Code(err))
	_, err = c.BlobGet(t.Context(), id, io.Discard, rpc.BlobGetOptions{Length: chunk})
	require.NoError(t, err, "a part that is whole")
}

func TestABlobInUseNamesTheApplication(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	id := mustPut(t, d.blobs, []byte("wasm"))
	app := codec.ApplicationID{7}
	var b engine.Batch
	engine.Put(&b, keys.ApplicationMeta{App: app}, codec.ApplicationMeta{ApplicationID: app, Bytecode: id})
	require.NoError(t, c.Store(t.Context()).Apply(&b))
	err := c.BlobDelete(t.Context(), id, false)
	require.ErrorIs(t, err, blob.ErrInUse)
	require.ErrorContains(t, err, app.String())
	require.NoError(t, c.BlobDelete(t.Context(), id, true))
}

func TestErrorsOfTheReaderAndTheWriterComeBack(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	broken := errors.New("broken")
	content := io.MultiReader(bytes.NewReader(bytesOf(2*chunk)), iotest.ErrReader(broken))
	_, _, err := c.BlobPut(t.Context(), content, rpc.BlobPutOptions{ID: codec.BlobID{1}})
	require.ErrorIs(t, err, broken)
	noRows(t, d)
	id := mustPut(t, d.blobs, bytesOf(chunk))
	_, err = c.BlobGet(t.Context(), id, failingWriter{broken}, rpc.BlobGetOptions{})
	require.ErrorIs(t, err, broken)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.BlobGet(ctx, id, io.Discard, rpc.BlobGetOptions{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = c.BlobStat(ctx, id)
	require.ErrorIs(t, err, context.Canceled)
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestRowsOfBlobsAreWrittenByTheirServiceOnly(t *testing.T) {
	id := codec.BlobID{1}
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, raw := start(t, nil, Options{}), start(t, nil, Options{Raw: true})
		for name, change := range map[string]func(*engine.Batch){
			"manifest": func(b *engine.Batch) { engine.Put(b, keys.BlobMeta{Blob: id}, codec.BlobMeta{}) },
			"chunk":    func(b *engine.Batch) { engine.Put(b, keys.BlobChunk{Blob: id}, codec.BlobChunk("a")) },
			"delete":   func(b *engine.Batch) { engine.Delete(b, keys.BlobChunk{Blob: id}) },
			"range":    func(b *engine.Batch) { b.DeleteRange(column.Blobs, id[:], []byte{2}) },
		} {
			var b engine.Batch
			b.Put(column.Generic, row("good"), nil)
			change(&b)
			err := d.dialAs(t, f).Store(t.Context()).Apply(&b)
			require.ErrorIs(t, err, rpc.ErrOwned, name)
			require.Equal(t, "stoa.v1.Blob", fault.Describe(err).Fields[fault.FieldOwner])
			require.Equal(t, "1", fault.Describe(err).Fields[fault.FieldChange])
			_, err = d.engine.Get(nil, column.Generic, row("good"))
			require.ErrorIs(t, err, engine.ErrNotFound, "nothing was written")
			require.NoError(t, raw.dialAs(t, f).Store(t.Context()).Apply(&b), name)
		}
	})
}

// What cannot be removed of broken uploads is said, and tried again at the next start.
func TestASweepThatFailsIsInTheLog(t *testing.T) {
	eng := mem.New()
	var b engine.Batch
	b.Put(column.Blobs, []byte("no key"), []byte("x"))
	require.NoError(t, eng.Apply(&b))
	log := &syncedLog{said: make(chan struct{})}
	d := start(t, eng, Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	select {
	case <-log.said:
	case <-time.After(patience):
		t.Fatal("nothing is said")
	}
	d.stop()
}

// syncedLog closes said when it is written that a sweep has failed.
type syncedLog struct {
	once sync.Once
	said chan struct{}
}

func (l *syncedLog) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("broken uploads have left is not all removed")) {
		l.once.Do(func() { close(l.said) })
	}
	return len(b), nil
}
