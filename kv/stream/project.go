package stream

import (
	"context"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Until an entry that a projection failed on is tried again.
const (
	firstRetry  = time.Second // after the first time; twice that after the next
	longestWait = time.Minute // and so on, up to this
)

// lookFollowing is how many entries a batch looks at for one that a filter takes.
const lookFollowing = 16

// Projection applies an entry to other spaces of the tenant, by the unit of work. It must not
// block, as it runs while other writes wait, and may run more than once for one entry: only
// what its last run did to the unit of work counts.
type Projection func(w *kv.Work, e Entry) error

// Project applies the entries of a consumer one after the other, in the order of the stream,
// each in the batch that moves the consumer past it: once, wherever a process dies, and
// whoever else reads from the consumer. Where apply fails, and where what it has done is refused,
// nothing is written, and the entry is tried again a second later, then after two, four and so on;
// those that follow wait. Once it was delivered as often as the consumer's MaxDeliver says, also to
// processes that died with it, it is a dead letter, and the next one has its turn.
//
// Project returns when ctx ends, with its error; else with that of Fetch, or of the engine.
// d is how durable a batch is before the next is made: whatever it is, the entries that are
// applied are those that the consumer is past.
func (c *Consumer) Project(ctx context.Context, d engine.Durability, apply Projection) error {
	for {
		// That an entry was delivered need not be on disk: who loses that delivers it again.
		list, err := c.Fetch(ctx, engine.WAL, FetchOptions{InOrder: true, Wait: MaxWait})
		if err != nil {
			return err
		}
		for i := range list {
			for got := &list[i]; got != nil; {
				if got, err = c.apply(ctx, d, got, apply); err != nil {
					return err
				}
			}
		}
	}
}

// apply applies an entry that is delivered, in a batch that delivers the next one too, which is
// returned if there is one; or says that it could not be.
func (c *Consumer) apply(ctx context.Context, d engine.Durability, got *Delivery, apply Projection) (next *Delivery, err error) {
	var failed error
	next, err = c.Apply(ctx, d, got.Ref(), true, func(w *kv.Work) error {
		failed = apply(w, got.Entry)
		return failed
	})
	if err == nil {
		return next, nil
	}
	if failed == nil && errors.Is(err, ErrFenced) {
		return nil, nil // somebody else has it
	}
	after := context.WithoutCancel(ctx)
	if ended := ctx.Err(); ended != nil {
		return nil, errors.Join(ended, unlessOver(c.giveBack(after, engine.WAL, got.Ref())))
	}
	if failed == nil && !isRefusal(err) {
		return nil, err
	}
	delay := RetryAfter(got.Deliveries)
	dead, nakErr := c.Nak(after, d, got.Ref(), delay, ReasonOf(err))
	c.streams.store.log.Warn("stream: a projection failed on an entry", "stream", c.stream, "consumer", c.name, "entry", got.Number, "delivery", got.Deliveries, "dead", dead, "again in", delay, "err", err)
	return nil, unlessOver(nakErr)
}

// RetryAfter is how long after a number of deliveries an entry is tried again that a projection
// failed on.
func RetryAfter(deliveries int) time.Duration {
	return min(firstRetry<<min(deliveries-1, 10), longestWait)
}

// Apply acknowledges an entry in the batch of what follows from it, which do writes to other
// spaces of the tenant, as a [Projection] does. With next, the batch delivers the entry that comes
// next as well, if it is known at once and nothing else is delivered; nil: see to it by Fetch. It
// returns ErrFenced if the delivery is over.
func (c *Consumer) Apply(ctx context.Context, d engine.Durability, r Ref, next bool, do func(*kv.Work) error) (following *Delivery, err error) {
	err = c.streams.store.kv.Update(ctx, d, func(w *kv.Work) error {
		following = nil
		in, err := c.ackWithin(w, r)
		if err != nil {
			return err
		}
		if err := do(w); err != nil || !next {
			return err
		}
		following, err = in.follow()
		return err
	})
	if err != nil {
		return nil, err
	}
	return following, nil
}

// follow delivers the entry that comes next, if nothing else is delivered and it is among the few
// that a batch may look at while others wait; nil: there is none, or Fetch is to find it.
func (w *work) follow() (*Delivery, error) {
	group, err := w.tx.Group(w.of.stream, w.of.name)
	if err != nil || group.Pending > 0 {
		return nil, err
	}
	head, err := w.tx.Stream(w.of.stream)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(w.config.Filter)
	if err != nil {
		return nil, damaged("consumer %q: %s", w.of.name, err)
	}
	for n := group.Delivered + 1; n <= min(head.Last, group.Delivered+lookFollowing); n++ {
		stored, err := w.tx.Entry(w.of.stream, n)
		if errors.Is(err, kv.ErrTrimmed) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		e, err := entryOf(stored)
		if err != nil {
			return nil, err
		}
		if takes(filter, e.Subject) {
			list, err := w.deliver(&prospect{cursor: group.Delivered, fresh: []uint64{n}, past: n}, FetchOptions{Limit: 1, InOrder: true})
			if err != nil || len(list) == 0 {
				return nil, err
			}
			return &list[0], nil
		}
	}
	return nil, nil
}

// isRefusal reports whether an error is that a unit of work may not do what it does, which
// the entry is the cause of: it is beyond the quota of a space, say.
func isRefusal(err error) bool {
	var refused *kv.Error
	return errors.As(err, &refused) && refused.Code != kv.CodeClosed && refused.Code != kv.CodeBusy
}

// unlessOver is an error, but for that of a delivery that is over.
func unlessOver(err error) error {
	if errors.Is(err, ErrFenced) {
		return nil
	}
	return err
}
