package server

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// offer returns what a request offers, or the answer to bytes that are no delta.
func offer(r *stoav1.DagAddManyRequest) (o dag.Offer, d engine.Durability, answer *dag.Answer, err error) {
	if d, err = op.ParseDurability("durability", r.GetDurability()); err != nil {
		return o, d, nil, err
	}
	if o.Claimed, err = op.ParseOptional[codec.DeltaID]("claimed_id", r.GetClaimedId()); err == nil {
		o.Delta, answer = dagwire.Offered(r.GetDelta())
	}
	return o, d, answer, err
}

// AddMany answers Dag.AddMany: it takes in deltas as they come.
func (t *dagService) AddMany(stream grpc.BidiStreamingServer[stoav1.DagAddManyRequest, stoav1.DagAddManyResponse]) error {
	return t.s.pacedStream(stream.Context(), t.s.dagStreams, func(ctx context.Context, wait *peerWait) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		q, read := ahead(ctx, t.s, stream.Recv, func(m *stoav1.DagAddManyRequest) int { return len(m.GetDelta()) })
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
	a := accountOf(ctx)
	busy := t.s.inFlight.Take(a, bytes)
	if busy == nil {
		defer t.s.inFlight.Give(a, bytes)
	}
	var run []dag.Offer // offers that are made together
	var level engine.Durability
	flush := func() error {
		for len(run) > 0 {
			answers, err := t.s.o.Dag.AddMany(ctx, run, level)
			for i := range answers {
				if err := sendAnswer(&answers[i], send); err != nil {
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
	var bare error
	var about codec.ContextID // what bare is of
	for _, m := range all {
		o, d, answer, err := offer(m)
		if err == nil {
			err = busy
		}
		if err == nil && answer == nil {
			if o.Delta.Context != about {
				about, bare = o.Delta.Context, t.s.mayAddBare(ctx, o.Delta.Context)
			}
			err = bare
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
			err = sendAnswer(answer, send)
		default:
			run, level = append(run, o), d
		}
		if err != nil {
			return err
		}
	}
	return flush()
}

func sendAnswer(a *dag.Answer, send func(*stoav1.DagAddManyResponse) error) error {
	m, err := dagwire.Answers.Message(a)
	if err != nil {
		return err
	}
	return send(&stoav1.DagAddManyResponse{Result: &stoav1.DagAddManyResponse_Answer{Answer: m}})
}

// sendFailure answers one delta with an error, unless it is one that ends the
// stream.
func (t *dagService) sendFailure(ctx context.Context, err error, send func(*stoav1.DagAddManyResponse) error) error {
	if ctx.Err() != nil || errors.Is(err, dag.ErrClosed) || errors.Is(err, engine.ErrClosed) {
		return err
	}
	known := new(fault.Error)
	if !errors.As(t.s.publish(ctx, stoav1.Dag_AddMany_FullMethodName, err), &known) {
		return err
	}
	return send(&stoav1.DagAddManyResponse{Result: &stoav1.DagAddManyResponse_Error{Error: known.InSession()}})
}
