package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/server/socket"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// rawConn is a framed connection by hand.
type rawConn struct {
	net.Conn
	t testing.TB
	r *frame.Reader

	greeting frame.Greeting
}

// raw connects, and reads the greeting.
func (d *testDaemon) raw(t testing.TB) *rawConn {
	conn, err := net.Dial("unix", d.path)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return d.speak(t, conn)
}

// speak speaks frames on a connection on which nothing else is said.
func (d *testDaemon) speak(t testing.TB, conn net.Conn) *rawConn {
	conn.SetDeadline(time.Now().Add(patience))
	c := &rawConn{Conn: conn, t: t, r: frame.NewReader(conn)}
	c.write([]byte(frame.Magic))
	var magic [4]byte
	_, err := io.ReadFull(conn, magic[:])
	require.NoError(t, err)
	require.Equal(t, frame.Magic, string(magic[:]))
	f := c.next()
	g, err := frame.ParseGreeting(f.Payload)
	require.NoError(t, err)
	require.EqualValues(t, d.o.MaxStreams, g.Calls)
	require.True(t, g.Has(101))
	c.greeting = g
	return c
}

func (c *rawConn) write(b []byte) {
	_, err := c.Write(b)
	require.NoError(c.t, err)
}

// send sends a message in a frame.
func (c *rawConn) send(h frame.Header, m proto.Message) {
	b, err := proto.Marshal(m)
	require.NoError(c.t, err)
	h.Length = uint32(len(b))
	c.write(append(h.Append(nil), b...))
}

// next returns the next frame.
func (c *rawConn) next() frame.Frame {
	for {
		f, ok, err := c.r.Next()
		require.NoError(c.t, err)
		if ok {
			return f
		}
		require.NoError(c.t, c.r.Fill())
	}
}

// failure is the status in f, an error.
func (c *rawConn) failure(f frame.Frame) error {
	require.Equal(c.t, frame.End|frame.Error, f.Flags)
	s := new(spb.Status)
	require.NoError(c.t, proto.Unmarshal(f.Payload, s))
	return fault.FromStatus(status.FromProto(s).Err())
}

// hungUp demands that the daemon ends the connection, and may say why before.
func (c *rawConn) hungUp() {
	for {
		if _, ok, err := c.r.Next(); ok {
			continue
		} else {
			require.NoError(c.t, err)
		}
		if c.r.Fill() != nil {
			return
		}
	}
}

func TestTheGreetingHasTheCallsOfTheServicesThatAreThere(t *testing.T) {
	gov := startGov(t, rpc.FramingAuto, Options{}).testDaemon
	for service, d := range map[string]*testDaemon{
		"stoa.v1.Dag": startDag(t, 1, Options{}).testDaemon, "stoa.v1.Kv": startKV(t, Options{}, kvstorage.Options{}).testDaemon,
		"stoa.v1.Record": startRecords(t, Options{}, kv.Quota{}).testDaemon, "stoa.v1.Policy": startPolicies(t, Options{}).testDaemon,
		"stoa.v1.Namespace": gov, "stoa.v1.Group": gov, "stoa.v1.Store": gov, "stoa.v1.Blob": gov, "stoa.v1.Admin": gov,
	} {
		greeting := d.raw(t).greeting
		for _, o := range op.Entries(service) {
			require.True(t, greeting.Has(o.About().Number), o.About().Name)
		}
	}
	for _, o := range op.Entries("stoa.v1.Dag") {
		require.False(t, gov.raw(t).greeting.Has(o.About().Number), "there are no contexts")
	}
}

func TestCallsOfOneConnectionAreAnsweredInTheOrderInWhichTheyAreDone(t *testing.T) {
	stub := newStub()
	held, release := make(chan struct{}), make(chan struct{})
	stub.apply = func() error {
		close(held)
		<-release
		return nil
	}
	c := start(t, stub, Options{}).raw(t)
	var b engine.Batch
	b.Put(column.Generic, row("a"), []byte("1"))
	c.send(frame.Header{ID: 1, Method: 103, Flags: frame.End}, &stoav1.ApplyRequest{Ops: b.Bytes()})
	<-held
	c.send(frame.Header{ID: 2, Method: 101, Flags: frame.End}, &stoav1.GetRequest{Column: 10, Key: row("a")})
	f := c.next()
	require.Equal(t, frame.Header{ID: 2, Flags: frame.End}, f.Header, "nothing is stored there yet")
	close(release)
	require.Equal(t, frame.Header{ID: 1, Flags: frame.End}, c.next().Header)
	c.send(frame.Header{ID: 3, Method: 101, Flags: frame.End}, &stoav1.GetRequest{Column: 10, Key: row("a")})
	require.Equal(t, "\x0A\x011", string(c.next().Payload))
}

func TestASlowReadHoldsUpNoOthers(t *testing.T) {
	stub := newStub()
	held, release := make(chan struct{}), make(chan struct{})
	stub.failGet(func() error {
		close(held)
		<-release
		return nil
	})
	c := start(t, stub, Options{}).raw(t)
	get := &stoav1.GetRequest{Column: 10, Key: row("a")}
	c.send(frame.Header{ID: 1, Method: 101, Flags: frame.End}, get)
	<-held
	stub.failGet(nil)
	for id := uint64(2); id < 5; id++ {
		c.send(frame.Header{ID: id, Method: 101, Flags: frame.End}, get)
		require.Equal(t, id, c.next().ID)
	}
	close(release)
	require.EqualValues(t, 1, c.next().ID)
}

func TestAScanStopsWithoutCreditAndGoesOnWithIt(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{})
	w := d.dial(t)
	for i := range 1000 {
		put(t, w.Store(t.Context()), fmt.Sprintf("%04d", i), strings.Repeat("x", 8000))
	}
	c := d.raw(t)
	c.send(frame.Header{ID: 7, Method: 104, Flags: frame.End}, &stoav1.ScanRequest{Column: 10})
	got := 0
	for got < frame.Window {
		f := c.next()
		require.Zero(t, f.Flags)
		got += len(f.Payload)
	}
	require.Eventually(t, d.scanWaits, patience, time.Millisecond, "there is no credit")
	c.send(frame.Header{ID: 8, Method: 105, Flags: frame.End}, &stoav1.ApproximateSizeRequest{Column: 10})
	require.EqualValues(t, 8, c.next().ID, "and no page comes before an answer that was asked for later")
	for {
		credit := frame.Header{ID: 7, Flags: frame.Credit, Length: 4}.Append(nil)
		c.write(binary.LittleEndian.AppendUint32(credit, 1<<20))
		f := c.next()
		if f.Flags == frame.End {
			require.Empty(t, f.Payload)
			break
		}
	}
	require.Eventually(t, func() bool { return stub.iterators.Load() == 0 }, patience, time.Millisecond, "after the end was sent")
}

func TestACancelledScanEnds(t *testing.T) {
	stub := newStub()
	d := start(t, stub, Options{})
	w := d.dial(t)
	for i := range 1000 {
		put(t, w.Store(t.Context()), fmt.Sprintf("%04d", i), strings.Repeat("x", 8000))
	}
	c := d.raw(t)
	c.send(frame.Header{ID: 7, Method: 104, Flags: frame.End}, &stoav1.ScanRequest{Column: 10})
	c.next()
	c.write(frame.Header{ID: 7, Flags: frame.Cancel}.Append(nil))
	f := c.next()
	for f.Flags == 0 {
		f = c.next()
	}
	require.ErrorIs(t, c.failure(f), context.Canceled)
	require.Eventually(t, func() bool { return stub.iterators.Load() == 0 }, patience, time.Millisecond)
}

func TestDeadlinesOfFramesCount(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.raw(t)
	c.send(frame.Header{ID: 1, Method: 106, Deadline: 20}, &stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Snapshot{}})
	f := c.next()
	if f.Flags == 0 { // the answer, which came before the deadline
		f = c.next()
	}
	require.ErrorIs(t, c.failure(f), context.DeadlineExceeded)
}

func TestWhatIsNoFrameEndsTheConnectionAndNothingElse(t *testing.T) {
	d := start(t, nil, Options{})
	other := d.dial(t)
	get := &stoav1.GetRequest{Column: 10, Key: row("a")}
	for name, h := range map[string]frame.Header{
		"id":       {Method: 101, Flags: frame.End},
		"flags":    {ID: 1, Method: 101, Flags: 64},
		"too long": {ID: 1, Method: 101, Flags: frame.End, Length: frame.MaxPayload + 1},
		"open":     {ID: 1, Method: 103},
	} {
		t.Run(name, func(t *testing.T) {
			c := d.raw(t)
			if h.Length > 0 {
				c.write(h.Append(nil))
			} else {
				c.send(h, get)
			}
			f := c.next()
			require.Zero(t, f.ID)
			c.failure(f)
			c.hungUp()
		})
	}
	c := d.raw(t)
	c.send(frame.Header{ID: 1, Method: 999, Flags: frame.End}, get)
	require.Equal(t, codes.Unimplemented, status.Code(c.failure(c.next())))
	c.write(append(frame.Header{ID: 2, Method: 101, Flags: frame.End, Length: 1}.Append(nil), 0xFF))
	require.Equal(t, codes.Internal, status.Code(c.failure(c.next())), "as gRPC has it")
	fine(t, other)
}

func TestPayloadsAreRefusedBeforeMemoryIsTaken(t *testing.T) {
	d := start(t, nil, Options{MaxInFlight: 1 << 20})
	c := d.raw(t)
	var b engine.Batch
	b.Put(column.Generic, row("a"), make([]byte, 2<<20))
	c.send(frame.Header{ID: 1, Method: 103, Flags: frame.End}, &stoav1.ApplyRequest{Ops: b.Bytes()})
	require.ErrorIs(t, c.failure(c.next()), rpc.ErrBusy)
	c.send(frame.Header{ID: 2, Method: 101, Flags: frame.End}, &stoav1.GetRequest{Column: 10, Key: row("a")})
	require.EqualValues(t, 2, c.next().ID)
	c.write(frame.Header{ID: 3, Method: 103, Flags: frame.End, Length: 900 << 10}.Append(nil))
	require.Eventually(t, func() bool { return d.inFlight.Used() > 0 }, patience, time.Millisecond)
	c.Close()
	awaitNoRequests(t, d.inFlight)
}

func TestCallsOfOneConnectionAreLimited(t *testing.T) {
	d := start(t, nil, Options{MaxStreams: 2})
	c := d.raw(t)
	take := &stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Snapshot{}}
	for id := uint64(1); id <= 3; id++ {
		c.send(frame.Header{ID: id, Method: 106}, take)
		f := c.next()
		require.Equal(t, id, f.ID)
		if id == 3 {
			require.ErrorIs(t, c.failure(f), rpc.ErrBusy)
		}
	}
	// The client waits for its turn instead.
	client := d.dial(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { put(t, client.Store(t.Context()), fmt.Sprint(i), "1") })
	}
	all.Wait()
}

func TestMessagesOfAStreamThatAreNotTakenAreLimited(t *testing.T) {
	stub := newStub()
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	stub.failGet(func() error {
		once.Do(func() { close(held) })
		<-release
		return nil
	})
	d := start(t, stub, Options{})
	c := d.raw(t)
	get := &stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Get{Get: &stoav1.GetRequest{Column: 10, Key: row("a")}}}
	c.send(frame.Header{ID: 1, Method: 106}, get)
	<-held
	for range 2 * framed.MaxInbox {
		c.send(frame.Header{ID: 1}, get)
	}
	c.send(frame.Header{ID: 2, Method: 105, Flags: frame.End}, &stoav1.ApproximateSizeRequest{Column: 10})
	require.EqualValues(t, 2, c.next().ID, "all before was read")
	close(release)
	f := c.next()
	for f.Flags == 0 {
		f = c.next()
	}
	require.ErrorIs(t, c.failure(f), rpc.ErrBusy)
}

func TestAPeerThatReadsNothingHoldsLittleMemory(t *testing.T) {
	d := start(t, nil, Options{})
	put(t, d.dial(t).Store(t.Context()), "large", strings.Repeat("x", 1<<20))
	c := d.raw(t)
	b, err := proto.Marshal(&stoav1.GetRequest{Column: 10, Key: row("large")})
	require.NoError(t, err)
	var asks []byte
	for id := range uint64(2000) {
		asks = append(frame.Header{ID: id + 1, Method: 101, Flags: frame.End, Length: uint32(len(b))}.Append(asks), b...)
	}
	go c.Conn.Write(asks) // the daemon stops reading somewhere
	most := 0
	until := time.Now().Add(patience)
	for looks := 0; looks < 40 && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		for _, use := range d.framed.Uses() {
			require.LessOrEqual(t, use.Slow, framed.MaxSlow)
			most = max(most, use.Unwritten)
		}
		if most > 0 { // it has begun
			looks++
		}
	}
	require.Positive(t, most)
	require.Less(t, most, 32<<20)
}

func TestAClientFindsADaemonAgainThatWasAway(t *testing.T) {
	eng := mem.New()
	defer eng.Close()
	path := socketDir(t) + "/s"
	up := func() (stop func()) {
		s, err := New(eng, Options{})
		require.NoError(t, err)
		ln, err := socket.Listen(path, socket.Options{})
		require.NoError(t, err)
		return serve(t, s, ln)
	}
	stop := up()
	c, err := rpc.Dial(t.Context(), path)
	require.NoError(t, err)
	defer c.Close()
	fine(t, c)
	for range 3 {
		stop()
		_, err = c.Store(t.Context()).Get(nil, column.Generic, row("fine"))
		require.ErrorIs(t, err, rpc.ErrUnavailable)
		stop = up()
		it, err := c.Store(t.Context()).Iterate(column.Generic, engine.Range{})
		require.NoError(t, err)
		require.True(t, it.Next())
		it.Close()
		stop()
		stop = up()
		s, err := c.Store(t.Context()).Snapshot()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		stop()
		stop = up()
		fine(t, c)
	}
	stop()
}

// TestADaemonWithoutFramesIsReachedByGRPC serves as daemons did before frames.
func TestADaemonWithoutFramesIsReachedByGRPC(t *testing.T) {
	path := socketDir(t) + "/s"
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	eng := mem.New()
	defer eng.Close()
	s, err := New(eng, Options{})
	require.NoError(t, err)
	defer s.hangUp()
	old := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(asPeer(ctx), r)
	}))
	stoav1.RegisterStoreServer(old, &storeService{s: s})
	go old.Serve(ln)
	defer old.Stop()
	_, err = rpc.Dial(t.Context(), path, rpc.WithFraming(rpc.FramingFrames))
	require.ErrorIs(t, err, engine.ErrUnsupported)
	c, err := rpc.Dial(t.Context(), path)
	require.NoError(t, err)
	defer c.Close()
	fine(t, c)
}

func TestManyCallersShareAConnection(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		c := start(t, nil, Options{}).dialAs(t, f)
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				key, value := fmt.Sprint(i), strings.Repeat(fmt.Sprint(i), 1<<(i/2))
				for n := range 30 {
					put(t, c.Store(t.Context()), key, value)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*50*time.Microsecond)
					c.Store(ctx).Get(nil, column.Generic, row(key)) // may end at any point
					cancel()
					v, err := c.Store(t.Context()).Get(nil, column.Generic, row(key))
					if err != nil || string(v) != value {
						t.Errorf("%s: %d bytes, %v", key, len(v), err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

func TestAPythonClientOfFramesTalksToTheDaemon(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 here")
	}
	d := start(t, nil, Options{})
	run(t, exec.CommandContext(t.Context(), python, "testdata/interop/frames.py", d.path), "python: ok")
}

// One slow read after the other holds up nobody, however many there were.
func TestManySlowReadsOneAfterTheOtherHoldUpNoOthers(t *testing.T) {
	stub := newStub()
	c := start(t, stub, Options{}).raw(t)
	get := &stoav1.GetRequest{Column: 10, Key: row("a")}
	id := uint64(0)
	for range framed.MaxSlow + 1 {
		held, release := make(chan struct{}), make(chan struct{})
		stub.failGet(func() error {
			close(held)
			<-release
			return nil
		})
		slow := id + 1
		c.send(frame.Header{ID: slow, Method: 101, Flags: frame.End}, get)
		<-held
		stub.failGet(nil)
		id += 2
		c.send(frame.Header{ID: id, Method: 101, Flags: frame.End}, get)
		require.Equal(t, id, c.next().ID)
		close(release)
		require.Equal(t, slow, c.next().ID)
	}
}

// A large message that begins a stream counts once, and no more when it is taken.
func TestALargeFirstMessageOfAStreamCountsOnce(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.raw(t)
	var b engine.Batch
	b.Put(column.Generic, row("a"), bytes.Repeat([]byte("x"), 200<<10))
	c.send(frame.Header{ID: 1, Method: 106}, &stoav1.SessionRequest{Id: 1, Request: &stoav1.SessionRequest_Get{Get: &stoav1.GetRequest{Column: 10, Key: append(row("a"), bytes.Repeat([]byte("x"), 200<<10)...)}}})
	c.next()
	require.NoError(t, c.Close())
	awaitNoRequests(t, d.inFlight)
}
