package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// town is a daemon with users: who connects is whom the test says.
type town struct {
	*kvDaemon
	uid   atomic.Uint32
	asked atomic.Int64 // how often the daemon has asked who connects
}

// The users of a town. Root may do everything.
const (
	root   = 0
	greedy = 5001
	modest = 5002
)

// startTown starts a daemon with root and two tenants.
func startTown(t *testing.T, o Options) *town {
	return startTownOf(t, o, map[uint32]access.Rights{root: mayAll, greedy: {Roles: access.Reader | access.Writer, Tenant: "greedy"}, modest: {Roles: access.Reader | access.Writer, Tenant: "modest"}})
}

// startTownOf starts a daemon with users of these rights.
func startTownOf(t *testing.T, o Options, users map[uint32]access.Rights) *town {
	w := &town{}
	o.Peers = peers(users, nil)
	o.peerOf = func(net.Conn) (demux.Peer, error) {
		defer w.asked.Add(1)
		return demux.Peer{UID: w.uid.Load()}, nil
	}
	w.kvDaemon = startKV(t, o, kvstorage.Options{})
	return w
}

// become makes n connections those of a user: it lets dial make them, and returns when the daemon
// knows of each whose it is.
func (w *town) become(t *testing.T, uid uint32, n int64, dial func()) {
	w.uid.Store(uid)
	before := w.asked.Load()
	dial()
	require.Eventually(t, func() bool { return w.asked.Load() >= before+n }, patience, time.Millisecond)
}

// as connects a client of a user.
func (w *town) as(t *testing.T, uid uint32, f rpc.Framing) (c *rpc.Client) {
	w.become(t, uid, 1, func() { c = w.dialAs(t, f) })
	return c
}

// wellServed demands that a user's calls are answered.
func wellServed(t *testing.T, c *rpc.Client, about string) {
	_, err := c.KV("").Put(t.Context(), "k", []byte(`"v"`))
	require.NoError(t, err, about)
	i, err := c.KV("").Get(t.Context(), "k")
	require.NoError(t, err, about)
	value, err := i.Bytes()
	require.NoError(t, err, about)
	require.Equal(t, `"v"`, string(value), about)
}

// rawAs is a connection of a user that speaks frames, by hand.
func (w *town) rawAs(t *testing.T, uid uint32) (c *rawConn) {
	w.become(t, uid, 1, func() { c = w.raw(t) })
	return c
}

// TestAnnouncedPayloadsTakeNothingFromOthers is security-review 01: headers that announce 33 MiB
// each, of which nothing follows.
func TestAnnouncedPayloadsTakeNothingFromOthers(t *testing.T) {
	w := startTown(t, Options{})
	for range 40 {
		c := w.rawAs(t, greedy)
		c.write(frame.Header{Length: 7 << 20, ID: 1, Method: 202, Flags: frame.End}.Append(nil))
		c.write(make([]byte, 100<<10)) // some of the payload
	}
	require.Eventually(t, func() bool { return w.inFlight.Used() >= 40*(256<<10) }, patience, time.Millisecond)
	require.LessOrEqual(t, w.inFlight.Used(), int64(40*(256<<10)), "what has come counts, and not what is announced")
	wellServed(t, w.as(t, modest, rpc.FramingAuto), "another tenant")
	wellServed(t, w.as(t, greedy, rpc.FramingAuto), "the same user, on another connection")
}

// TestOneUserHasAShareOfBytes: a user who really sends much is refused alone.
func TestOneUserHasAShareOfBytes(t *testing.T) {
	w := startTown(t, Options{MaxInFlight: 64 << 20})
	other := w.as(t, modest, rpc.FramingAuto)
	for range 20 {
		c := w.rawAs(t, greedy)
		c.write(frame.Header{Length: 8 << 20, ID: 1, Method: 202, Flags: frame.End}.Append(nil))
		c.write(make([]byte, 7<<20))
	}
	require.Eventually(t, func() bool { return w.inFlight.Used() > 8<<20 }, patience, time.Millisecond)
	for range 50 {
		require.LessOrEqual(t, w.inFlight.Used(), int64(16<<20), "a quarter of all")
		wellServed(t, other, "another tenant")
	}
}

// TestAMessageThatIsTooLargeForAConnectionIsRefused, before its bytes are taken, on both framings.
func TestAMessageThatIsTooLargeForAConnectionIsRefused(t *testing.T) {
	w := startTown(t, Options{MaxConnectionBytes: 1 << 20})
	big := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	c := w.as(t, greedy, rpc.FramingAuto)
	_, err := c.KV("").Put(t.Context(), "k", big)
	require.ErrorIs(t, err, engine.ErrTooLarge)
	require.ErrorContains(t, err, "a connection of uid 5001 may hold 1048576 (stoa serve --connection-memory)")
	wellServed(t, c, "the connection goes on")
	c = w.as(t, greedy, rpc.FramingGRPC)
	_, err = c.KV("").Put(t.Context(), "k", big)
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	wellServed(t, c, "the connection goes on")
	host := w.as(t, root, rpc.FramingAuto)
	_, err = host.KV("t").Put(t.Context(), "k", big[:1<<20-1])
	require.Error(t, err, "no value of key-values")
	var b engine.Batch
	b.Put(column.Generic, row("large"), make([]byte, 3<<20))
	require.NoError(t, host.Store(t.Context()).Apply(&b), "who may do everything may send it")
}

// TestAPayloadThatStandsStillEndsItsConnection, with the reason, on both framings.
func TestAPayloadThatStandsStillEndsItsConnection(t *testing.T) {
	w := startTown(t, Options{Stall: 20 * time.Millisecond})
	c := w.rawAs(t, greedy)
	c.write(frame.Header{Length: 1 << 20, ID: 1, Method: 202, Flags: frame.End}.Append(nil))
	f := c.next()
	require.EqualValues(t, 0, f.ID)
	require.Contains(t, string(f.Payload), "a message that has begun did not go on for 20ms")
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	awaitNoRequests(t, w.inFlight)

	quiet := w.as(t, greedy, rpc.FramingAuto)
	wellServed(t, quiet, "before")
	g := w.http2As(t, greedy)
	g.begin(1, "/stoa.v1.Kv/Put", 1<<20, 100)
	select {
	case <-g.ended:
	case <-time.After(patience):
		require.Fail(t, "it is not hung up on")
	}
	awaitNoRequests(t, w.inFlight)
	wellServed(t, quiet, "a connection that has nothing under way stays")
}

// http2Conn is a connection that speaks gRPC, by hand.
type http2Conn struct {
	t      *testing.T
	conn   net.Conn
	framer *http2.Framer
	ended  chan struct{} // closed when the server has hung up
}

func (w *town) http2As(t *testing.T, uid uint32) *http2Conn {
	var conn net.Conn
	var err error
	w.become(t, uid, 1, func() { conn, err = net.Dial("unix", w.path) })
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	h := &http2Conn{t: t, conn: conn, framer: http2.NewFramer(conn, conn), ended: make(chan struct{})}
	require.NoError(t, h.framer.WriteSettings())
	go func() {
		defer close(h.ended)
		_, _ = io.Copy(io.Discard, conn)
	}()
	return h
}

// begin begins a call whose message has so many bytes, of which some are sent.
func (h *http2Conn) begin(id uint32, method string, size, sent int) {
	var block []byte
	literal := func(name, value string) {
		block = append(block, 0, byte(len(name)))
		block = append(append(block, name...), byte(len(value)))
		block = append(block, value...)
	}
	literal(":method", "POST")
	literal(":scheme", "http")
	literal(":path", method)
	literal(":authority", "stoa")
	literal("content-type", "application/grpc")
	literal("te", "trailers")
	if h.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true}) != nil {
		return // it was hung up on
	}
	h.more(id, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(size)), make([]byte, sent)...))
}

func (h *http2Conn) more(id uint32, b []byte) {
	for len(b) > 0 {
		n := min(len(b), 16<<10)
		if h.framer.WriteData(id, false, b[:n]) != nil {
			return // it was hung up on
		}
		b = b[n:]
	}
}

// TestMessagesOverGRPCThatNeverEndCountAndAreBounded is security-review 02: streams that send a
// message less its last byte.
func TestMessagesOverGRPCThatNeverEndCountAndAreBounded(t *testing.T) {
	w := startTown(t, Options{MaxConnectionBytes: 1 << 20, MaxInFlight: 8 << 20})
	other := w.as(t, modest, rpc.FramingGRPC)
	for range 6 {
		h := w.http2As(t, greedy)
		for i := range uint32(20) {
			h.begin(2*i+1, "/stoa.v1.Kv/Put", 60<<10, 60<<10-1)
		}
	}
	for range 50 {
		require.LessOrEqual(t, w.inFlight.Used(), int64(2<<20), "a quarter of all")
		wellServed(t, other, "another tenant")
	}
}

// TestStreamsOfGRPCAreBoundedBeforeTheirMessagesCome: a stream costs something before any handler runs.
func TestStreamsOfGRPCAreBoundedBeforeTheirMessagesCome(t *testing.T) {
	w := startTown(t, Options{MaxGRPCStreams: 64})
	other := w.as(t, modest, rpc.FramingGRPC)
	h := w.http2As(t, greedy)
	for i := range uint32(40) {
		h.begin(2*i+1, "/stoa.v1.Kv/Put", 10, 0)
	}
	require.Eventually(t, func() bool { return w.grpcStreams.Used() == 16 }, patience, time.Millisecond)
	wellServed(t, other, "another tenant")
	h.conn.Close()
	require.Eventually(t, func() bool { return w.grpcStreams.Used() == 0 }, patience, time.Millisecond, "they are given back with the connection")
	h = w.http2As(t, greedy)
	h.begin(1, "/stoa.v1.Admin/Compact", 10, 0)
	h.begin(3, "/stoa.v1.Kv/Put", 10, 0)
	require.Eventually(t, func() bool { return w.grpcStreams.Used() == 1 }, patience, time.Millisecond, "what is not for the peer is refused at its header")
}

// TestAnswersThatNobodyReadsAreBounded is security-review 03.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	w := startTown(t, Options{MaxInFlight: 64 << 20})
	own := w.as(t, greedy, rpc.FramingAuto)
	for i := range 10 {
		_, err := own.KV("").Put(t.Context(), fmt.Sprint("k", i), []byte(`"`+strings.Repeat("x", 300<<10)+`"`))
		require.NoError(t, err)
	}
	other := w.as(t, modest, rpc.FramingAuto)
	for range 8 {
		c := w.rawAs(t, greedy)
		for id := range uint64(100) {
			c.send(frame.Header{ID: id + 1, Method: 208, Flags: frame.End}, &stoav1.KvListRequest{})
		}
	}
	require.Eventually(t, func() bool { return w.answers.Used() > 1<<20 }, patience, time.Millisecond)
	for range 100 {
		require.LessOrEqual(t, w.answers.Used(), int64(16<<20+4*4<<20), "a quarter of all, and for a moment what is refused")
		wellServed(t, other, "another tenant")
	}
}

// TestIdleConnectionsOfOneUserLeaveRoomForOthers is security-review 05.
func TestIdleConnectionsOfOneUserLeaveRoomForOthers(t *testing.T) {
	w := startTown(t, Options{MaxConnections: 64})
	first := w.as(t, modest, rpc.FramingAuto)
	w.become(t, greedy, 64, func() {
		for range 64 {
			conn, err := net.Dial("unix", w.path)
			require.NoError(t, err)
			t.Cleanup(func() { conn.Close() })
			io.WriteString(conn, frame.Magic)
		}
	})
	require.Eventually(t, func() bool { return w.connections.Used() == 16+1 }, patience, time.Millisecond, "a quarter of all")
	_, err := rpc.Dial(t.Context(), w.path)
	require.ErrorIs(t, err, rpc.ErrBusy)
	require.ErrorContains(t, err, "no more than 16 connections of one user at once, here uid 5001")
	wellServed(t, first, "who was there")
	wellServed(t, w.as(t, modest, rpc.FramingAuto), "who comes")
	_, err = w.as(t, root, rpc.FramingAuto).Status(t.Context())
	require.NoError(t, err)
}

// TestWatchesOfOneUserLeaveRoomForOthers is the other half of security-review 05.
func TestWatchesOfOneUserLeaveRoomForOthers(t *testing.T) {
	w := startTown(t, Options{MaxKVStreams: 64})
	own, other := w.as(t, greedy, rpc.FramingAuto), w.as(t, modest, rpc.FramingAuto)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	refused := make(chan error, 64)
	for range 64 {
		go func() {
			for _, err := range own.KV("").Watch(ctx, rpc.Once()) {
				if err != nil {
					refused <- err
					return
				}
			}
			refused <- nil
		}()
	}
	for range 64 - 16 {
		err := <-refused
		require.ErrorIs(t, err, rpc.ErrBusy)
		require.ErrorContains(t, err, "no more than 16 streams of key-values of one user at once")
	}
	for e, err := range other.KV("").Watch(ctx, rpc.Once()) {
		require.NoError(t, err, "%v", e)
		break
	}
	wellServed(t, other, "another tenant")
	taken, err := w.as(t, root, rpc.FramingAuto).Peers(t.Context())
	require.NoError(t, err)
	uses := map[string]uint64{}
	for _, u := range taken.Users {
		for _, use := range u.Uses {
			uses[fmt.Sprint(u.Uid, " ", use.What)] = use.Used
			require.LessOrEqual(t, use.Used, use.Limit)
		}
	}
	require.EqualValues(t, 16, uses["5001 streams of key-values"])
	require.EqualValues(t, 1, uses["5002 connections"])
	require.Contains(t, uses, "0 requests")
}

// TestLargeAnswersOfShortCallsCountToo: rows may be large, and are read by short calls.
func TestLargeAnswersOfShortCallsCountToo(t *testing.T) {
	w := startTownOf(t, Options{MaxInFlight: 64 << 20}, map[uint32]access.Rights{root: mayAll, greedy: {Roles: access.Reader}, modest: {Roles: access.Reader | access.Writer}})
	var b engine.Batch
	b.Put(column.Generic, row("large"), make([]byte, 3<<20))
	require.NoError(t, w.as(t, root, rpc.FramingAuto).Store(t.Context()).Apply(&b))
	other := w.as(t, modest, rpc.FramingAuto)
	for range 8 {
		c := w.rawAs(t, greedy)
		for id := range uint64(30) {
			c.send(frame.Header{ID: id + 1, Method: 101, Flags: frame.End}, &stoav1.GetRequest{Column: stoav1.Column_COLUMN_GENERIC, Key: row("large")})
		}
	}
	require.Eventually(t, func() bool { return w.answers.Used() > 8<<20 }, patience, time.Millisecond)
	for range 100 {
		require.LessOrEqual(t, w.answers.Used(), int64(16<<20+4*3<<20), "a quarter of all, and for a moment what is refused")
		_, err := other.Store(t.Context()).Get(nil, column.Generic, row("none"))
		require.ErrorIs(t, err, engine.ErrNotFound)
	}
	own := w.as(t, greedy, rpc.FramingGRPC)
	_, err := own.Store(t.Context()).Get(nil, column.Generic, row("large"))
	require.ErrorIs(t, err, rpc.ErrBusy, "over gRPC it is the same user")
}

// TestAStreamThatSaysNoSizesServesAUserWithLimits: what has no queue need not say how large its items are.
func TestAStreamThatSaysNoSizesServesAUserWithLimits(t *testing.T) {
	d := start(t, nil, Options{Peers: only(access.All &^ access.Secrets)})
	for _, f := range []rpc.Framing{rpc.FramingAuto, rpc.FramingGRPC} {
		c := d.dialAs(t, f)
		_, _, err := c.BlobPut(t.Context(), strings.NewReader("content"), rpc.BlobPutOptions{})
		require.NoError(t, err)
		v, err := c.BlobVerify(t.Context(), blob.VerifyOptions{Repair: true}, nil)
		require.NoError(t, err)
		require.EqualValues(t, 1, v.Blobs)
	}
}
