package agents

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// listener notes what was asked of a stream, and answers what it has, or nothing.
type listener struct {
	daemon
	request *stoav1.LockAcquireRequest
	answers []*stoav1.LockAcquireResponse
	renewed int
	broken  error  // what a renewal is answered
	freed   uint64 // the token that was released last
}

func (l *listener) Open(_ context.Context, _ *op.Method, req proto.Message) (op.Receiver, error) {
	l.request = req.(*stoav1.LockAcquireRequest)
	return l, nil
}

func (l *listener) RecvMsg(m any) error {
	if len(l.answers) == 0 {
		return io.EOF
	}
	proto.Merge(m.(proto.Message), l.answers[0])
	l.answers = l.answers[1:]
	return nil
}

func (l *listener) Unary(ctx context.Context, m *op.Method, req, _ any) error {
	switch m.Name {
	case "Lock.Renew":
		l.renewed++
		return l.broken
	case "Lock.Release":
		l.freed = req.(*stoav1.LockReleaseRequest).GetToken()
	}
	return ctx.Err()
}

// Who does not ask for its place is not told that it waits; who asks once, not whenever others go.
func TestPlacesAreAskedForWhereSomebodyListens(t *testing.T) {
	moved := func(int) {}
	for _, c := range []struct {
		moved       func(int)
		once, never bool
	}{{nil, false, true}, {moved, false, false}, {moved, true, false}} {
		l := new(listener)
		_, err := NewLocks(l, "t").Acquire(t.Context(), lock.Request{Name: lock.Task("1"), Agent: "a", Wait: true, TTL: time.Second, Moved: c.moved, PlaceOnce: c.once})
		require.Error(t, err, "there was no grant")
		require.Equal(t, c.once, l.request.GetPlaceOnce())
		require.Equal(t, c.never, l.request.GetPlaceNever())
	}
}

func TestALockThatWasWaitedForIsRenewed(t *testing.T) {
	long := &stoav1.LockGrant{Name: "task:1", Agent: "a", Token: 5, Mode: stoav1.LockMode_LOCK_MODE_EXCLUSIVE, AcquiredMs: 1000, ExpiresMs: 3_600_000, UntilMs: 3_600_000}
	for _, c := range []struct {
		answers []*stoav1.LockAcquireResponse
		renewed int
	}{
		{[]*stoav1.LockAcquireResponse{{Grant: long}}, 0},
		{[]*stoav1.LockAcquireResponse{{Place: 1, Grant: long}}, 1},
		{[]*stoav1.LockAcquireResponse{{Place: 1}, {Grant: long}}, 1},
	} {
		l := &listener{answers: c.answers}
		_, err := NewLocks(l, "t").Acquire(t.Context(), lock.Request{Name: lock.Task("1"), Agent: "a", Wait: true, TTL: time.Minute})
		require.NoError(t, err)
		require.Equal(t, c.renewed, l.renewed)
	}
}

// What a call was granted that ends before it could say that it knows goes to the next.
func TestALockIsReleasedWhoseRenewalIsBrokenOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	grant := &stoav1.LockGrant{Name: "task:1", Agent: "a", Token: 5, Mode: stoav1.LockMode_LOCK_MODE_EXCLUSIVE, AcquiredMs: 1000, ExpiresMs: 3_600_000, UntilMs: 3_600_000}
	l := &listener{answers: []*stoav1.LockAcquireResponse{{Place: 1, Grant: grant}}, broken: context.Canceled}
	cancel()
	g, err := NewLocks(l, "t").Acquire(ctx, lock.Request{Name: lock.Task("1"), Agent: "a", Wait: true, TTL: time.Minute})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, g)
	require.EqualValues(t, 5, l.freed)
}
