package framed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
)

// A client that uploads sends on until it has heard that its stream has failed, as on a disk
// that is full. What comes meanwhile is no misuse, for which all calls of the connection would
// end.
func TestAMessageThatComesAsTheHandlerReturnsIsDropped(t *testing.T) {
	message := frame.Frame{Header: frame.Header{ID: 1}, Payload: []byte("a chunk")}
	for _, paced := range []bool{true, false} {
		c := &connection{f: &Server{o: Options{InFlight: &limit.Quota{Limit: 1 << 20}}}, nc: &demux.Conn{}}
		s := newStream(&call{conn: c, id: 1}, t.Context(), paced)
		require.NoError(t, s.put(message))
		s.drop()
		require.NoError(t, s.put(message))
		require.Empty(t, s.inbox.all)

		s = newStream(&call{conn: c, id: 1}, t.Context(), paced)
		s.closeInbox()
		require.ErrorIs(t, s.put(message), frame.ErrMalformed, "the client itself said that it was the last")
	}
}
