package agents

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// listener notes what was asked of a stream, and answers nothing.
type listener struct {
	daemon
	request *stoav1.LockAcquireRequest
}

func (l *listener) Open(_ context.Context, _ *op.Method, req proto.Message) (op.Receiver, error) {
	l.request = req.(*stoav1.LockAcquireRequest)
	return &sent{}, nil
}

// Who does not ask for its place is told once that it waits, and not whenever others go.
func TestPlacesAreAskedForWhereSomebodyListens(t *testing.T) {
	moved := func(int) {}
	for _, c := range []struct {
		moved func(int)
		once  bool
		want  bool
	}{{nil, false, true}, {moved, false, false}, {moved, true, true}} {
		l := &listener{}
		_, err := NewLocks(l, "t").Acquire(t.Context(), lock.Request{Name: lock.Task("1"), Agent: "a", Wait: true, TTL: time.Second, Moved: c.moved, PlaceOnce: c.once})
		require.Error(t, err, "there was no grant")
		require.Equal(t, c.want, l.request.GetPlaceOnce())
	}
}
