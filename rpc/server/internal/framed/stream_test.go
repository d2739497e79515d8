package framed

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// writes are the writes to a connection.
type writes struct {
	net.Conn
	list [][]byte
}

func (w *writes) Write(b []byte) (int, error) {
	w.list = append(w.list, append([]byte(nil), b...))
	return len(b), nil
}

func (w *writes) Read(b []byte) (int, error) {
	if len(w.list) == 0 {
		return 0, errors.New("no more was written")
	}
	n := copy(b, w.list[0])
	w.list = w.list[1:]
	return n, nil
}

// A client takes an id again as soon as it has the end, which another call of the connection may have
// written already.
func TestAnIDIsFreeBeforeTheAnswerIsWritten(t *testing.T) {
	w := new(writes)
	c := &connection{f: new(Server), w: frame.NewWriter(w, 0), calls: map[uint64]*call{}, begun: 1}
	k := &call{conn: c, id: 7, cancel: func() {}}
	c.calls[7] = k
	require.True(t, k.claim())
	require.Zero(t, c.w.Waiting())
	require.Empty(t, c.calls)
	require.Equal(t, 1, c.begun, "a server that stops does not end the connection before the answer is written")
}

func TestTheLastAnswerAndTheEndOfAStreamAreOneWrite(t *testing.T) {
	w := new(writes)
	c := &connection{f: &Server{codec: wire.NewCodec(), o: Options{Scans: new(limit.Quota)}}, w: frame.NewWriter(w, 0), calls: map[uint64]*call{}, begun: 1}
	k := &call{conn: c, id: 7, cancel: func() {}}
	c.calls[7] = k
	s := newStream(k, context.Background(), false)
	require.NoError(t, s.SendMsg(&stoav1.LockAcquireResponse{Place: 1}))
	require.NoError(t, s.SendLast(&stoav1.LockAcquireResponse{Place: 2}))
	require.Empty(t, c.calls, "the id is free once the end is sent")
	require.Equal(t, 1, c.begun, "it has not ended")
	require.Error(t, s.SendLast(&stoav1.LockAcquireResponse{}), "it has ended")
	k.answer(nil, errors.New("what the handler returns later is told to nobody"))
	require.NoError(t, c.w.Flush(false))
	next := &call{conn: c, id: 7}
	c.calls[7] = next // the client goes on at once
	k.ended()
	require.Same(t, next, c.calls[7], "what has ended takes nothing from the next of its id")
	require.Zero(t, c.begun)

	require.Len(t, w.list, 2)
	r := frame.NewReader(w)
	var got []frame.Header
	for len(w.list) > 0 || r.Buffered() > 0 {
		f, ok, err := r.Next()
		require.NoError(t, err)
		if !ok {
			require.NoError(t, r.Fill())
			continue
		}
		got = append(got, f.Header)
	}
	require.Len(t, got, 3)
	require.Equal(t, []frame.Flags{0, 0, frame.End}, []frame.Flags{got[0].Flags, got[1].Flags, got[2].Flags})
	require.Zero(t, got[2].Length)
}
