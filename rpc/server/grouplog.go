package server

import (
	"context"
	"github.com/stoadb/stoa/rpc/internal/op"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Ops is Group.Ops.
func (t *groupService) Ops(ctx context.Context, r *stoav1.GroupOpsRequest) (*stoav1.GroupOpsResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	limit := govPage(r.GetLimit())
	res := new(stoav1.GroupOpsResponse)
	for e, err := range t.store().Ops(ctx, g, namespace.Window{From: r.GetFrom(), Reverse: r.GetReverse(), Limit: limit}) {
		if err != nil {
			return nil, aboutGroup(err, g)
		}
		res.Entries = append(res.Entries, govwire.FromEntry(&e))
	}
	if len(res.GetEntries()) == limit {
		last := res.GetEntries()[limit-1].GetSeq()
		if res.Next = last + 1; r.GetReverse() {
			res.Next = last - 1
		}
	}
	return res, nil
}

// Follow is Group.Follow.
func (t *groupService) Follow(r *stoav1.GroupFollowRequest, stream grpc.ServerStreamingServer[stoav1.GroupFollowResponse]) error {
	g, err := groupID(r)
	if err != nil {
		return err
	}
	return t.s.govStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		q := op.NewQueue[*stoav1.GroupEvent](govQueue)
		read := t.s.Detached(ctx, func() error {
			defer q.Close()
			for e, err := range t.store().Follow(ctx, g, r.GetAfter(), r.GetLive()) {
				if err != nil {
					return aboutGroup(err, g)
				}
				if !q.Put(ctx, govwire.FromEvent(&e), eventBytes) {
					return nil
				}
			}
			return nil
		})
		for {
			events := q.Take(ctx)
			if len(events) == 0 {
				break
			}
			if err := wait.During(func() error { return stream.Send(&stoav1.GroupFollowResponse{Events: events}) }); err != nil {
				cancel()
				<-read
				return err
			}
		}
		cancel()
		return <-read
	})
}

// eventBytes is what an event takes in memory, about: ops of groups are small.
const eventBytes = 1024

// Voided is Group.Voided.
func (t *groupService) Voided(_ context.Context, r *stoav1.GroupVoidedRequest) (*stoav1.GroupVoidedResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	voided, err := t.store().Voided(g)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	res := new(stoav1.GroupVoidedResponse)
	for _, v := range voided {
		m := &stoav1.GroupVoidedOp{OpId: op.Bytes(v.ID)}
		if v.Root != nil {
			if m.RootOp, err = govwire.FromRootOp(v.Root); err != nil {
				return nil, err
			}
		}
		if v.Body != nil {
			m.GroupOp = govwire.FromGroupOp(v.Body)
		}
		res.Ops = append(res.Ops, m)
	}
	return res, nil
}

// Reissue is Group.Reissue.
func (t *groupService) Reissue(ctx context.Context, r *stoav1.GroupReissueRequest) (*stoav1.GroupReissueResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	done, err := t.store().Reissue(ctx, g)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	res := new(stoav1.GroupReissueResponse)
	for i := range done {
		m := &stoav1.GroupReissued{OpId: op.Bytes(done[i].Old)}
		if done[i].Err != nil {
			m.Failed = done[i].Err.Error()
		} else {
			m.Proposed = govwire.FromProposed(&done[i].New)
		}
		res.Reissued = append(res.Reissued, m)
	}
	return res, nil
}
