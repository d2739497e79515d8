package agents

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// daemon answers a watch with what it has, and goes away after some events, once each.
type daemon struct {
	events []*stoav1.LockEvent
	lasts  []int // how many events each stream has
	asked  []uint64
}

func (*daemon) Unary(context.Context, *op.Method, any, any) error { return nil }
func (*daemon) Failed(_ *op.Method, err error) error              { return err }

func (d *daemon) Open(_ context.Context, _ *op.Method, req proto.Message) (op.Receiver, error) {
	after := req.(*stoav1.LockWatchRequest).GetAfter()
	d.asked = append(d.asked, after)
	s := &sent{}
	for _, e := range d.events {
		if e.GetRevision() > after {
			s.events = append(s.events, e)
		}
	}
	if len(d.lasts) > 0 {
		s.events, s.end, d.lasts = s.events[:d.lasts[0]], fault.ErrUnavailable, d.lasts[1:]
	}
	return s, nil
}

type sent struct {
	events []*stoav1.LockEvent
	end    error
}

func (s *sent) RecvMsg(m any) error {
	if len(s.events) == 0 {
		if s.end == nil {
			return io.EOF
		}
		return s.end
	}
	m.(*stoav1.LockWatchResponse).Events, s.events = s.events[:1], s.events[1:]
	return nil
}

// Where several events have one revision, a watch that is cut off between them goes on
// between them.
func TestAWatchGoesOnWithinARevision(t *testing.T) {
	d := &daemon{lasts: []int{2, 3, 2}}
	for i, agent := range []string{"a", "b", "c", "d"} {
		d.events = append(d.events, &stoav1.LockEvent{Kind: stoav1.LockEventKind_LOCK_EVENT_KIND_EXPIRED, Revision: 6 + uint64(i/3), Agent: agent})
	}
	var got []string
	for e, err := range NewLocks(d, "t").Watch(t.Context(), lock.WatchOptions{Resume: true, After: 5}) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(e.Revision, e.Agent))
	}
	require.Equal(t, []string{"6a", "6b", "6c", "7d"}, got)
	require.Equal(t, []uint64{5, 5, 5, 5}, d.asked)
}
