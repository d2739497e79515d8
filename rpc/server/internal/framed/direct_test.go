package framed

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// A stream of one answer is answered by the hand where nothing else is under way, in one write. One that
// turns out to be longer is a stream, and so are those after it.
func TestAStreamOfOneAnswerIsAShortCall(t *testing.T) {
	const id = 7
	var straight, streamed int
	var answer Answer
	var failure error
	m := &method{Method: &op.Method{Number: 104, Name: "Store.Scan"}, info: &grpc.UnaryServerInfo{}, stream: &grpc.StreamDesc{ServerStreams: true, Handler: func(_ any, ss grpc.ServerStream) error {
		streamed++
		for range 2 {
			if err := ss.SendMsg(&stoav1.ScanResponse{Count: 1}); err != nil {
				return err
			}
		}
		return nil
	}}, direct: &Direct{
		Parse: func(sc *Scratch, payload []byte) error { return Parse(payload, &sc.Scan) },
		Lone:  func(sc *Scratch) bool { return sc.Scan.GetLimit() == 100 },
		Do: func(context.Context, *Scratch) (Answer, error) {
			straight++
			return answer, failure
		},
	}}
	f := &Server{codec: wire.NewCodec(), o: Options{Scans: &limit.Quota{Limit: 9}, InFlight: &limit.Quota{Limit: 1 << 20}, MaxStreams: 4, Stopping: make(chan struct{})},
		methods: map[uint16]*method{104: m},
		unary: func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			return next(ctx, req)
		},
		stream: func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return next(srv, ss)
		}}
	begin := func(a *limit.Account) (*writes, *connection) {
		inner, outer := net.Pipe()
		t.Cleanup(func() { inner.Close(); outer.Close() })
		w := &writes{Conn: inner}
		c := newConnection(f, demux.NewConn(w, demux.Peer{Account: a}, func() {}))
		c.w = frame.NewWriter(w, 0)
		return w, c
	}
	ask := func(c *connection, limit uint64) {
		payload, err := f.codec.Marshal(&stoav1.ScanRequest{Limit: limit})
		require.NoError(t, err)
		goesOn, err := c.hand.take(frame.Frame{Header: frame.Header{ID: id, Method: 104, Flags: frame.End}, Payload: payload.Materialize()})
		require.NoError(t, err)
		require.True(t, goesOn)
		c.work.Wait()
		require.NoError(t, c.w.Flush(false))
	}
	flags := func(w *writes) (got []frame.Flags) {
		r := frame.NewReader(w)
		for len(w.list) > 0 || r.Buffered() > 0 {
			f, ok, err := r.Next()
			require.NoError(t, err)
			if !ok {
				require.NoError(t, r.Fill())
				continue
			}
			require.EqualValues(t, id, f.ID)
			got = append(got, f.Flags)
		}
		return got
	}
	count := func(s, l int) {
		require.Equal(t, [2]int{s, l}, [2]int{straight, streamed})
		straight, streamed = 0, 0
	}

	w, c := begin(nil)
	answer = Answer{Large: mem.BufferSlice{mem.SliceBuffer("page")}}
	ask(c, 100)
	count(1, 0)
	require.Len(t, w.list, 1, "the answer and the end")
	require.Equal(t, []frame.Flags{0, frame.End}, flags(w))

	answer = Answer{}
	ask(c, 100)
	count(1, 0)
	require.Equal(t, []frame.Flags{frame.End}, flags(w), "nothing was found")

	failure = errors.New("no")
	ask(c, 100)
	count(1, 0)
	require.Equal(t, []frame.Flags{frame.Error | frame.End}, flags(w))
	failure = nil

	ask(c, 101)
	count(0, 1)
	require.Equal(t, []frame.Flags{0, 0, frame.End}, flags(w))

	c.calls[8] = new(call)
	ask(c, 100)
	count(0, 1)
	flags(w)
	delete(c.calls, 8)

	answer = Answer{Long: true}
	ask(c, 100)
	count(1, 1)
	require.Equal(t, []frame.Flags{0, 0, frame.End}, flags(w))
	ask(c, 100)
	count(0, 1)
	require.Empty(t, c.calls)
	require.Zero(t, c.begun)

	shares := &limit.Shares{Parts: 2}
	account := shares.Join(1000, false, 1<<20)
	defer shares.Leave(account)
	f.o.InFlight = shares.Quota("bytes", 1<<20, true)
	_, c = begin(account)
	answer = Answer{}
	ask(c, 100)
	count(0, 1) // of whom each page counts
}
