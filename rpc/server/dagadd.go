package server

import (
	"context"
	"errors"
	"fmt"
	"github.com/stoadb/stoa/rpc/internal/op"
	"io"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Commit is Dag.Commit.
func (t *dagService) Commit(ctx context.Context, r *stoav1.DagCommitRequest) (*stoav1.DagCommitResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	c := dag.Commit{
		Context: id, Actions: dagwire.Actions(r.GetActions()), Events: dagwire.Events(r.GetEvents()),
		Private: dagwire.Actions(r.GetPrivateActions()),
	}
	if c.ReadRoot, err = op.ParseHash[codec.Hash]("read_root", r.GetReadRoot()); err != nil {
		return nil, field(err)
	}
	if c.Durability, err = durability(r.GetDurability()); err != nil {
		return nil, err
	}
	done, err := t.s.o.Dag.Commit(ctx, c)
	if err != nil {
		return nil, aboutContext(err, id)
	}
	return &stoav1.DagCommitResponse{
		DeltaId: op.Bytes(done.Delta), RootHash: op.Bytes(done.Root), Deltas: done.Deltas, Seq: done.Seq,
	}, nil
}

// offered is a delta as a request has it.
type offered interface {
	GetDelta() []byte
	GetClaimedId() []byte
	GetDurability() stoav1.Durability
}

// offer returns what a request offers, or the answer to bytes that are no delta.
func offer(r offered) (o dag.Offer, d engine.Durability, answer *dag.Answer, err error) {
	if d, err = durability(r.GetDurability()); err != nil {
		return o, d, nil, err
	}
	if o.Claimed, err = op.ParseOptional[codec.DeltaID]("claimed_id", r.GetClaimedId()); err != nil {
		return o, d, nil, field(err)
	}
	refusal := dag.Refusal{Reason: dag.BadForm}
	if n := len(r.GetDelta()); n > dag.MaxDelta {
		refusal = dag.Refusal{Reason: dag.OverLimit, Detail: fmt.Sprintf("%d bytes, at most %d", n, dag.MaxDelta)}
	} else if o.Delta, err = dag.ParseDelta(r.GetDelta()); err == nil {
		return o, d, nil, nil
	} else {
		refusal.Detail = err.Error()
	}
	return o, d, &dag.Answer{Kind: dag.Refused, Refusal: &refusal}, nil
}

// Add is Dag.Add.
func (t *dagService) Add(ctx context.Context, r *stoav1.DagAddRequest) (*stoav1.DagAddResponse, error) {
	o, d, answer, err := offer(r)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		a, err := t.s.o.Dag.Add(ctx, o.Delta, dag.AddOptions{Claimed: o.Claimed, Durability: d})
		if err != nil {
			return nil, aboutContext(err, o.Delta.Context)
		}
		answer = &a
	}
	return &stoav1.DagAddResponse{Answer: dagwire.FromAnswer(answer)}, nil
}

// AddMany is Dag.AddMany.
func (t *dagService) AddMany(stream grpc.BidiStreamingServer[stoav1.DagAddManyRequest, stoav1.DagAddManyResponse]) error {
	return t.s.dagStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		q := op.NewQueue[*stoav1.DagAddManyRequest](dagQueue)
		read := t.s.Detached(ctx, func() error {
			defer q.Close()
			for {
				m, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil || !q.Put(ctx, m, len(m.GetDelta())+64) {
					return err
				}
			}
		})
		for {
			all := q.Take(ctx)
			if len(all) == 0 {
				break
			}
			if err := t.addAll(ctx, all, func(m *stoav1.DagAddManyResponse) error {
				return wait.During(func() error { return stream.Send(m) })
			}); err != nil {
				return err // which ends the stream, and so Recv
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return <-read
	})
}

// addAll offers deltas and sends the answers. It returns an error only if the
// stream can't go on.
func (t *dagService) addAll(ctx context.Context, all []*stoav1.DagAddManyRequest, send func(*stoav1.DagAddManyResponse) error) error {
	bytes := int64(0)
	for _, m := range all {
		bytes += int64(len(m.GetDelta()))
	}
	busy := t.s.inFlight.Take(bytes)
	if busy == nil {
		defer t.s.inFlight.Give(bytes)
	}
	var run []dag.Offer // offers that are made together
	var level engine.Durability
	flush := func() error {
		for len(run) > 0 {
			answers, err := t.s.o.Dag.AddMany(ctx, run, level)
			for i := range answers {
				if err := send(&stoav1.DagAddManyResponse{Result: &stoav1.DagAddManyResponse_Answer{Answer: dagwire.FromAnswer(&answers[i])}}); err != nil {
					return err
				}
			}
			failed := run[len(answers):]
			if err == nil || len(failed) == 0 {
				break
			}
			if err := t.sendFailure(ctx, aboutContext(err, failed[0].Delta.Context), send); err != nil {
				return err
			}
			run = failed[1:]
		}
		run = run[:0]
		return nil
	}
	for _, m := range all {
		o, d, answer, err := offer(m)
		if err == nil {
			err = busy
		}
		if err == nil && answer == nil && (len(run) == 0 || d == level) {
			run, level = append(run, o), d
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		switch {
		case err != nil:
			err = t.sendFailure(ctx, err, send)
		case answer != nil:
			err = send(&stoav1.DagAddManyResponse{Result: &stoav1.DagAddManyResponse_Answer{Answer: dagwire.FromAnswer(answer)}})
		default:
			run, level = append(run, o), d
		}
		if err != nil {
			return err
		}
	}
	return flush()
}

// sendFailure answers one delta with an error, unless it is one that ends the
// stream.
func (t *dagService) sendFailure(ctx context.Context, err error, send func(*stoav1.DagAddManyResponse) error) error {
	if ctx.Err() != nil || errors.Is(err, dag.ErrClosed) || errors.Is(err, engine.ErrClosed) {
		return err
	}
	known := new(rpc.Error)
	if !errors.As(t.s.publish(ctx, stoav1.Dag_AddMany_FullMethodName, err), &known) {
		return err
	}
	return send(&stoav1.DagAddManyResponse{Result: &stoav1.DagAddManyResponse_Error{Error: known.InSession()}})
}
