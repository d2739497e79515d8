package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// dagAdding are the arguments of Add.
type dagAdding struct {
	Delta      []byte
	ClaimedID  codec.DeltaID `wire:",optional"`
	Durability engine.Durability

	context codec.ContextID
}

// AboutContext returns the context.
func (a *dagAdding) AboutContext() codec.ContextID { return a.context }

var dagAdd = op.New(op.Method{Number: 614, Name: "Dag.Add", Role: access.Writer},
	func(ctx context.Context, s *backend.Contexts, a *dagAdding) (dag.Answer, error) {
		delta, answer := dagwire.Offered(a.Delta)
		if answer != nil {
			return *answer, nil
		}
		a.context = delta.Context
		if err := s.Bare(ctx, a.context); err != nil {
			return dag.Answer{}, err
		}
		return s.Add(ctx, delta, dag.AddOptions{Claimed: a.ClaimedID, Durability: a.Durability})
	})

// Add takes a delta in, and with it those that have waited for it; see
// [dag.Store.Add]. It takes the delta's bytes as they travel: bytes that are no delta
// are refused. After ErrUnavailable or the end of ctx it may or may not have been
// taken; offering it again is harmless.
func (d *Dag) Add(ctx context.Context, delta []byte, o dag.AddOptions) (dag.Answer, error) {
	return call(ctx, d.c, dagAdd, dagAdding{Delta: delta, ClaimedID: o.Claimed, Durability: o.Durability})
}

var dagAddMany = op.ByHand(op.Method{Number: 615, Name: "Dag.AddMany", Role: access.Writer})

// AddMany offers deltas, as bytes that travel, over one stream, and yields the
// answers in their order, each with an error of its own if the delta could not be
// judged. An error that is not about one delta ends it. How far the daemon is
// behind is bounded. deltas is drawn from on a goroutine of its own, which ends no
// later than the next delta after the answers have ended.
func (d *Dag) AddMany(ctx context.Context, deltas iter.Seq[[]byte], durability engine.Durability) iter.Seq2[dag.Answer, error] {
	level := op.Durability(durability)
	return offer(ctx, d.c, dagAddMany.Name, d.c.dag.AddMany, deltas,
		func(delta []byte) *stoav1.DagAddManyRequest {
			return &stoav1.DagAddManyRequest{Delta: delta, Durability: level}
		},
		func(m *stoav1.DagAddManyResponse) (dag.Answer, error) { return dagwire.Answers.Value(m.GetAnswer()) })
}
