package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// streamApplying are the arguments of Apply.
type streamApplying struct {
	op.ByUser
	streamConsumer
	stream.Ref
	Changes    []bucket.Change
	Next       bool
	Durability engine.Durability
}

var streamApply = op.New(op.Method{Number: 1422, Name: "Stream.Apply", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamApplying) (*stream.Delivery, error) {
		c, err := a.find(s)
		if err != nil {
			return nil, err
		}
		if s.Buckets == nil {
			return nil, fmt.Errorf("%w: projections: no buckets are served here", engine.ErrUnsupported)
		}
		changes, err := s.Buckets.Batch(a.Tenant, a.Changes, a.Operator())
		if err != nil {
			return nil, err
		}
		return c.Apply(ctx, a.Durability, a.Ref, a.Next, changes)
	})

// Apply acknowledges an entry in the batch of changes of buckets, which are all made or none. With
// next, the batch delivers the entry that comes next as well, if it is known at once and nothing
// else is delivered; nil: see to it by [StreamConsumer.Fetch] in order. It returns
// stream.ErrFenced if the delivery is over, and the errors of changes, on which the delivery goes
// on.
func (c *StreamConsumer) Apply(ctx context.Context, d engine.Durability, r stream.Ref, changes []bucket.Change, next bool) (*stream.Delivery, error) {
	for i := range changes {
		if err := bucket.CheckTTL(changes[i].TTL); err != nil {
			return nil, err
		}
	}
	return caller.Call(ctx, c.c, streamApply, streamApplying{streamConsumer: c.of, Ref: r, Changes: changes, Next: next, Durability: d})
}

// Project applies the entries of the consumer to buckets one after the other, in the order of
// the stream: apply returns what follows from an entry, which is written in the batch that moves
// the consumer past it. So each entry is applied once, whichever process dies and whoever else
// projects the consumer. Changes that hang on what a bucket has name the revision that was read: who
// is late is refused, and tries again.
//
// Where apply fails, and where what it returns is refused, nothing is written, and the entry is
// tried again after [stream.RetryAfter], while those that follow wait. Once it was delivered as often
// as the consumer's MaxDeliver says it is a dead letter, and the next one has its turn.
//
// Project returns when ctx ends, with its error; else with that of the call that failed: by then
// nothing is lost, and Project can be called again. d is how durable each batch is before the
// next is made.
func (c *StreamConsumer) Project(ctx context.Context, d engine.Durability, apply func(stream.Entry) ([]bucket.Change, error)) error {
	for {
		list, err := c.Fetch(ctx, engine.WAL, stream.FetchOptions{InOrder: true, Wait: stream.MaxWait})
		if err != nil {
			return err
		}
		for i := range list {
			for got := &list[i]; got != nil; {
				if got, err = c.project(ctx, d, got, apply); err != nil {
					return err
				}
			}
		}
	}
}

// project applies an entry that is delivered, and returns the next one if there is one; or says
// that it could not be applied.
func (c *StreamConsumer) project(ctx context.Context, d engine.Durability, got *stream.Delivery, apply func(stream.Entry) ([]bucket.Change, error)) (*stream.Delivery, error) {
	changes, failed := apply(got.Entry)
	if failed == nil {
		next, err := c.Apply(ctx, d, got.Ref(), changes, true)
		switch refused := (*bucket.Error)(nil); {
		case err == nil:
			return next, nil
		case errors.Is(err, stream.ErrFenced):
			return nil, nil // somebody else has it
		case !errors.As(err, &refused) && !errors.Is(err, kv.ErrQuotaExhausted):
			return nil, err
		}
		failed = err
	}
	_, err := c.Nak(ctx, d, got.Ref(), stream.RetryAfter(got.Deliveries), stream.ReasonOf(failed))
	if errors.Is(err, stream.ErrFenced) {
		err = nil
	}
	return nil, err
}
