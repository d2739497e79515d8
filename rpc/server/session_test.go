package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// talk is a session under test.
type talk struct {
	t      *testing.T
	stream stoav1.Store_SessionClient
	id     uint64
}

func (d *testDaemon) talk(t *testing.T) *talk {
	t.Helper()
	s, err := stoav1.NewStoreClient(d.bare(t)).Session(t.Context())
	require.NoError(t, err)
	return &talk{t: t, stream: s}
}

// ask sends a request and returns its id and its answer.
func (k *talk) ask(r *stoav1.SessionRequest) (uint64, *stoav1.SessionResponse) {
	k.t.Helper()
	k.id++
	r.Id = k.id
	require.NoError(k.t, k.stream.Send(r))
	res, err := k.stream.Recv()
	require.NoError(k.t, err)
	require.Equal(k.t, k.id, res.GetId())
	return k.id, res
}

func askGet(name string, snapshot uint64) *stoav1.SessionRequest {
	return &stoav1.SessionRequest{Request: &stoav1.SessionRequest_Get{Get: &stoav1.GetRequest{
		Column: stoav1.Column_COLUMN_GENERIC, Key: row(name), Snapshot: snapshot}}}
}

func askScan(r *stoav1.ScanRequest) *stoav1.SessionRequest {
	return &stoav1.SessionRequest{Request: &stoav1.SessionRequest_Scan{Scan: r}}
}

func askNext(scan uint64) *stoav1.SessionRequest {
	return &stoav1.SessionRequest{Request: &stoav1.SessionRequest_Next{Next: &stoav1.SessionNextRequest{Scan: scan}}}
}

func askClose(scan uint64) *stoav1.SessionRequest {
	return &stoav1.SessionRequest{Request: &stoav1.SessionRequest_Close{Close: &stoav1.SessionCloseRequest{Scan: scan}}}
}

func TestASessionReadsItsSnapshot(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	put(t, c.Store(t.Context()), "a", "old")
	k := d.talk(t)
	_, res := k.ask(askGet("a", 0))
	require.Equal(t, "old", string(res.GetGet().GetValue()))
	_, res = k.ask(&stoav1.SessionRequest{Request: &stoav1.SessionRequest_Snapshot{}})
	id := res.GetSnapshot().GetSnapshot()
	require.NotZero(t, id)
	put(t, c.Store(t.Context()), "a", "new")
	put(t, c.Store(t.Context()), "b", "new")
	_, res = k.ask(askGet("a", 0))
	require.Equal(t, "old", string(res.GetGet().GetValue()))
	_, res = k.ask(askGet("b", 0))
	require.Nil(t, res.GetGet().Value)
	_, res = k.ask(&stoav1.SessionRequest{Request: &stoav1.SessionRequest_MultiGet{MultiGet: &stoav1.MultiGetRequest{
		Lookups: wire.AppendLookups(nil, []engine.Lookup{{Column: column.Generic, Key: row("a")}, {Column: column.Generic, Key: row("b")}})}}})
	require.Equal(t, "\x04old\x00", string(res.GetMultiGet().GetValues()))

	store := stoav1.NewStoreClient(d.bare(t))
	get := &stoav1.GetRequest{Column: stoav1.Column_COLUMN_GENERIC, Key: row("a"), Snapshot: id}
	got, err := store.Get(t.Context(), get)
	require.NoError(t, err)
	require.Equal(t, "old", string(got.GetValue()), "calls outside read it too")
	_, res = k.ask(&stoav1.SessionRequest{Request: &stoav1.SessionRequest_Snapshot{}})
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_REQUEST, res.GetError().GetKind(), "one to a session")

	require.NoError(t, k.stream.CloseSend())
	_, err = k.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	_, err = store.Get(t.Context(), get)
	require.ErrorIs(t, fault.FromStatus(err), engine.ErrClosed, "until it ends")
}

func TestAShortScanIsOnePage(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	for i := range 200 {
		put(t, c.Store(t.Context()), fmt.Sprintf("%03d", i), "v")
	}
	k := d.talk(t)
	_, res := k.ask(askScan(&stoav1.ScanRequest{Column: stoav1.Column_COLUMN_GENERIC, Limit: 150}))
	require.EqualValues(t, 150, res.GetPage().GetCount())
}

func TestASessionPullsPages(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{MaxSessionScans: 2})
	c := d.dial(t)
	for i := range 500 {
		put(t, c.Store(t.Context()), fmt.Sprintf("%03d", i), "v")
	}
	k := d.talk(t)
	all := &stoav1.ScanRequest{Column: stoav1.Column_COLUMN_GENERIC, Prefix: row("")}
	scan, res := k.ask(askScan(all))
	counts := []uint32{}
	for !res.GetPage().GetEnd() {
		require.Nil(t, res.GetError())
		counts = append(counts, res.GetPage().GetCount())
		_, res = k.ask(askNext(scan))
	}
	require.Equal(t, []uint32{32, 128, 340}, counts)
	_, res = k.ask(askNext(scan))
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_REQUEST, res.GetError().GetKind(), "it is closed")

	first, _ := k.ask(askScan(all))
	second, _ := k.ask(askScan(&stoav1.ScanRequest{Column: stoav1.Column_COLUMN_GENERIC, Prefix: row(""), Reverse: true}))
	_, res = k.ask(askScan(all))
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_BUSY, res.GetError().GetKind())
	_, res = k.ask(askNext(second))
	require.EqualValues(t, 128, res.GetPage().GetCount())
	_, res = k.ask(askClose(first))
	require.True(t, res.GetPage().GetEnd())
	_, res = k.ask(askClose(first))
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_REQUEST, res.GetError().GetKind())
	require.EqualValues(t, 1, stub.iterators.Load())
	require.NoError(t, k.stream.CloseSend())
	_, err := k.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.Zero(t, stub.iterators.Load())
}

func TestASessionGoesOnAfterErrors(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{})
	k := d.talk(t)
	_, res := k.ask(&stoav1.SessionRequest{})
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_REQUEST, res.GetError().GetKind())
	_, res = k.ask(&stoav1.SessionRequest{Request: &stoav1.SessionRequest_Get{Get: &stoav1.GetRequest{Column: 11, Key: []byte{0x21}}}})
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_KEY, res.GetError().GetKind())
	require.Equal(t, "Group", res.GetError().GetFields()[fault.FieldColumn])
	_, res = k.ask(askGet("a", 12345))
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_SNAPSHOT, res.GetError().GetKind())
	stub.failGet(func() error { return io.ErrUnexpectedEOF })
	_, res = k.ask(askGet("a", 0))
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_INTERNAL, res.GetError().GetKind())
	stub.failGet(nil)
	_, res = k.ask(askGet("a", 0))
	require.NotNil(t, res.GetGet())
	require.NoError(t, k.stream.CloseSend())
}

func TestAPanicEndsItsSessionAndLeavesNothingTaken(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{})
	k := d.talk(t)
	_, res := k.ask(&stoav1.SessionRequest{Request: &stoav1.SessionRequest_Snapshot{}})
	require.NotZero(t, res.GetSnapshot().GetSnapshot())
	_, res = k.ask(askScan(&stoav1.ScanRequest{Column: stoav1.Column_COLUMN_GENERIC}))
	require.Nil(t, res.GetError())
	stub.failGet(func() error { panic("no") })
	other := d.talk(t)
	require.NoError(t, other.stream.Send(askGet("a", 0)))
	_, err := other.stream.Recv()
	require.ErrorIs(t, fault.FromStatus(err), rpc.ErrInternal)
	require.EqualValues(t, 1, d.sessions.Used(), "the other one goes on")
	awaitNoRequests(t, d.inFlight)
	require.NoError(t, k.stream.CloseSend())
}

func TestIdleSessionsEnd(t *testing.T) {
	stub := newStub()
	const idle = 10 * time.Millisecond
	begun := time.Now()
	var passed, looks atomic.Int64 // looks at the clock
	d := start(t, stub, Options{SessionIdle: idle, Now: func() time.Time {
		looks.Add(1)
		return begun.Add(time.Duration(passed.Load()))
	}})
	c := d.dial(t)
	snap, err := c.Store(t.Context()).Snapshot()
	require.NoError(t, err)
	for range 8 { // reads keep it
		passed.Add(int64(idle) - 1)
		before := looks.Load() // only the watch over idleness looks
		require.Eventually(t, func() bool { return looks.Load() > before+1 }, patience, time.Millisecond)
		_, err = snap.Get(nil, column.Generic, row("a"))
		require.ErrorIs(t, err, engine.ErrNotFound)
	}
	passed.Add(int64(idle))
	require.Eventually(t, func() bool { return stub.snapshots.Load() == 0 }, patience, time.Millisecond)
	_, err = snap.Get(nil, column.Generic, row("a"))
	require.ErrorIs(t, err, engine.ErrClosed)
	require.NoError(t, snap.Close())
}

func TestASessionWithoutASnapshotEndsWhenIdle(t *testing.T) {
	d := start(t, nil, Options{SessionIdle: time.Millisecond})
	s, err := stoav1.NewStoreClient(d.bare(t)).Session(t.Context())
	require.NoError(t, err)
	_, err = s.Recv()
	require.ErrorIs(t, fault.FromStatus(err), engine.ErrClosed)
}

// manyRows writes more than any connection holds of a scan that is not read.
func manyRows(t *testing.T, w engine.Writer) {
	t.Helper()
	var b engine.Batch
	for i := range 3000 {
		b.Put(column.Generic, row(fmt.Sprintf("%04d", i)), make([]byte, 8000))
	}
	require.NoError(t, w.Apply(&b))
}

func TestAScanEndsWithTheSessionOfItsSnapshot(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{})
	manyRows(t, stub)
	k := d.talk(t)
	_, taken := k.ask(&stoav1.SessionRequest{Request: &stoav1.SessionRequest_Snapshot{Snapshot: &stoav1.SessionSnapshotRequest{}}})
	scan, err := stoav1.NewStoreClient(d.bare(t)).Scan(t.Context(), &stoav1.ScanRequest{
		Column: stoav1.Column_COLUMN_GENERIC, Snapshot: taken.GetSnapshot().GetSnapshot()})
	require.NoError(t, err)
	_, err = scan.Recv()
	require.NoError(t, err)
	require.NoError(t, k.stream.CloseSend())
	require.Eventually(t, func() bool { return stub.iterators.Load() == 0 && stub.snapshots.Load() == 0 }, patience, time.Millisecond)
	for err == nil {
		_, err = scan.Recv()
	}
	require.ErrorIs(t, fault.FromStatus(err), engine.ErrClosed)
}

func TestPagesOfAScanCountAsReadsOfItsSnapshot(t *testing.T) {
	begun := time.Now()
	var passed atomic.Int64
	d := start(t, nil, Options{Now: func() time.Time { return begun.Add(time.Duration(passed.Load())) }})
	put(t, d.engine, "a", "1")
	snap, err := d.engine.Snapshot()
	require.NoError(t, err)
	held, err := d.snapshots.add(snap, 0)
	require.NoError(t, err)
	v := view{s: d.Server, peer: demux.Peer{Rights: mayAll}, read: held, held: held}
	sc, err := v.open(&stoav1.ScanRequest{Column: stoav1.Column_COLUMN_GENERIC})
	require.NoError(t, err)
	defer sc.close()
	require.NoError(t, sc.send(slowStream{took: func() { passed.Add(int64(time.Minute)) }}, &peerWait{now: d.o.Now}, held))
	require.Equal(t, time.Minute, held.used.time().Sub(begun))
}

// slowStream takes messages after a while.
type slowStream struct {
	grpc.ServerStream
	took func()
}

func (s slowStream) SendMsg(m any) error {
	s.took()
	wire.Return(m.(*wire.Page).Entries)
	return nil
}

func TestScansThatNobodyReadsEnd(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{SessionIdle: 50 * time.Millisecond})
	c := d.dial(t)
	manyRows(t, stub)
	it, err := c.Store(t.Context()).Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	require.Eventually(t, func() bool { return stub.iterators.Load() == 0 && d.scans.Used() == 0 }, patience, time.Millisecond)
	for it.Next() {
	}
	// A page that is stuck in the connection takes the connection with it.
	if !errors.Is(it.Err(), rpc.ErrUnavailable) {
		require.ErrorIs(t, it.Err(), engine.ErrClosed)
	}
}

func TestSessionsRunSideBySide(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	var all sync.WaitGroup
	for i := range 16 {
		name := fmt.Sprintf("%02d", i)
		put(t, c.Store(t.Context()), name, "0")
		k := d.talk(t)
		all.Go(func() {
			k.ask(&stoav1.SessionRequest{Request: &stoav1.SessionRequest_Snapshot{}})
			for j := range 50 {
				put(t, c.Store(t.Context()), name, fmt.Sprint(j+1))
				_, res := k.ask(askGet(name, 0))
				if string(res.GetGet().GetValue()) != "0" {
					t.Errorf("session %d saw %q", i, res.GetGet().GetValue())
				}
			}
			k.stream.CloseSend()
		})
	}
	all.Wait()
}

func TestAKilledClientLeavesNothingBehind(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{})
	c := d.dial(t)
	for i := range 3000 {
		put(t, c.Store(t.Context()), fmt.Sprintf("%04d", i), string(make([]byte, 8000)))
	}
	victim := d.dial(t)
	it, err := victim.Store(t.Context()).Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	require.True(t, it.Next())
	snap, err := victim.Store(t.Context()).Snapshot()
	require.NoError(t, err)
	over, err := snap.Iterate(column.Generic, engine.Range{Reverse: true})
	require.NoError(t, err)
	require.True(t, over.Next())
	require.NotZero(t, stub.iterators.Load()+stub.snapshots.Load())
	require.NoError(t, victim.Close()) // as the kernel does for a killed one
	require.Eventually(t, func() bool {
		return stub.iterators.Load() == 0 && stub.snapshots.Load() == 0 && d.scans.Used() == 0 && d.sessions.Used() == 0
	}, patience, time.Millisecond)
	fine(t, c)
}

func TestAScanOfASnapshotEndsWithIt(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	for i := range 3000 {
		put(t, c.Store(t.Context()), fmt.Sprintf("%04d", i), string(make([]byte, 8000)))
	}
	snap, err := c.Store(t.Context()).Snapshot()
	require.NoError(t, err)
	it, err := snap.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	require.True(t, it.Next())
	require.NoError(t, snap.Close())
	require.ErrorIs(t, snap.Close(), engine.ErrClosed)
	for it.Next() {
	}
	require.ErrorIs(t, it.Err(), engine.ErrClosed)
	it.Close()
	_, err = snap.Iterate(column.Generic, engine.Range{})
	require.ErrorIs(t, err, engine.ErrClosed)
}

func TestSnapshotNumbersAreNeverZeroNorTaken(t *testing.T) {
	numbers := make([]byte, 0, 64)
	for _, n := range []uint64{0, 5, 5, 0, 6} {
		numbers = binary.LittleEndian.AppendUint64(numbers, n)
	}
	table := snapshots{rand: &cutter{numbers}, now: time.Now}
	stub := newStub()
	for _, want := range []uint64{5, 6} {
		s, err := stub.Snapshot()
		require.NoError(t, err)
		h, err := table.add(s, 1)
		require.NoError(t, err)
		require.Equal(t, want, h.id)
	}
	table.closeAll()
	require.Zero(t, stub.snapshots.Load())
}

func TestASnapshotThatGetsNoNumberIsNotKept(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{})
	d.snapshots.rand = iotest.ErrReader(errors.New("no randomness"))
	k := d.talk(t)
	_, res := k.ask(&stoav1.SessionRequest{Request: &stoav1.SessionRequest_Snapshot{}})
	require.NotNil(t, res.GetError())
	require.Zero(t, stub.snapshots.Load())
}

type cutter struct{ rest []byte }

func (c *cutter) Read(b []byte) (int, error) {
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// How long ago a moment was is told by the monotonic clock, which no step of the wall
// clock changes, and else by the clock that the server was given.
func TestMomentsAreMonotonic(t *testing.T) {
	var m moment
	m.set(time.Now())
	require.Contains(t, m.time().String(), " m=", "a time without a reading of the monotonic clock")
	given := time.Date(2100, 1, 2, 3, 4, 5, 6, time.UTC)
	m.set(given)
	require.Equal(t, 7*time.Second, given.Add(7*time.Second).Sub(m.time()))
}
