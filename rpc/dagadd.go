package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Commit is dag.Store's. After ErrUnavailable or the end of ctx the delta may or
// may not have been made: read the heads before committing again.
func (d *Dag) Commit(ctx context.Context, c dag.Commit) (dag.Committed, error) {
	for i := range c.Events {
		if err := checkEvent(&c.Events[i]); err != nil {
			return dag.Committed{}, err
		}
	}
	client, cancel := d.until(ctx)
	defer cancel()
	res, err := dagCall(client, "commit", d.c.dag.Commit, &stoav1.DagCommitRequest{
		ContextId: c.Context[:], Actions: dagwire.FromActions(c.Actions), Events: dagwire.FromEvents(c.Events),
		PrivateActions: dagwire.FromActions(c.Private), ReadRoot: c.ReadRoot[:], Durability: wireDurability(c.Durability),
	})
	if err != nil {
		return dag.Committed{}, err
	}
	done := dag.Committed{Deltas: res.GetDeltas(), Seq: res.GetSeq()}
	if done.Delta, err = op.ParseID[codec.DeltaID]("delta_id", res.GetDeltaId()); err == nil {
		done.Root, err = op.ParseHash[codec.Hash]("root_hash", res.GetRootHash())
	}
	return done, odd("commit", err)
}

// checkEvent returns what the bytes of an event are wrong in: a protobuf string
// can't carry everything that a Go string can.
func checkEvent(e *codec.Event) error {
	_, err := e.AppendBinary(nil)
	return err
}

// Add is dag.Store's, for the delta's bytes as they travel: bytes that are no
// delta are refused. After ErrUnavailable or the end of ctx it may or may not have
// been taken; offering it again is harmless.
func (d *Dag) Add(ctx context.Context, delta []byte, o dag.AddOptions) (dag.Answer, error) {
	client, cancel := d.until(ctx)
	defer cancel()
	res, err := dagCall(client, "add", d.c.dag.Add, &stoav1.DagAddRequest{
		Delta: delta, ClaimedId: op.OptionalBytes(o.Claimed), Durability: wireDurability(o.Durability),
	})
	if err != nil {
		return dag.Answer{}, err
	}
	a, err := dagwire.Answer(res.GetAnswer())
	return a, odd("add", err)
}

// AddMany offers deltas, as bytes that travel, over one stream, and yields the
// answers in their order, each with an error of its own if the delta could not be
// judged. An error that is not about one delta ends it. How far the daemon is
// behind is bounded. deltas is drawn from on a goroutine of its own, which ends no
// later than the next delta after the answers have ended.
func (d *Dag) AddMany(ctx context.Context, deltas iter.Seq[[]byte], durability engine.Durability) iter.Seq2[dag.Answer, error] {
	level := wireDurability(durability)
	return offer(ctx, d.c, "add many", d.c.dag.AddMany, deltas,
		func(delta []byte) *stoav1.DagAddManyRequest {
			return &stoav1.DagAddManyRequest{Delta: delta, Durability: level}
		},
		func(m *stoav1.DagAddManyResponse) (dag.Answer, error) { return dagwire.Answer(m.GetAnswer()) })
}
