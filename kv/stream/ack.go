package stream

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Ack says that entries are handled, at most MaxBatch of them, and returns how many were with
// their callers still: the others were delivered again since, or are acknowledged, or dead
// letters.
func (c *Consumer) Ack(ctx context.Context, d engine.Durability, list ...Ref) (done int, err error) {
	if err := checkBatch("deliveries", len(list)); err != nil {
		return 0, err
	}
	err = c.update(ctx, d, func(w *work) error {
		done = 0
		for _, r := range list {
			_, err := w.held(r)
			if errors.Is(err, ErrFenced) {
				continue
			}
			if err == nil {
				err = w.done(r.Number)
			}
			if err != nil {
				return err
			}
			done++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return done, nil
}

func checkBatch(field string, have int) error {
	if have > MaxBatch {
		return beyond(CodeTooMany, field, MaxBatch, have, "%d %s at once, at most %d", have, field, MaxBatch)
	}
	return nil
}

// AckWithin says within a unit of work of the tenant that an entry is handled: what else the
// unit of work does lands in the batch that moves the consumer past the entry, or not at all. It
// returns ErrFenced, on which the unit of work is to fail, if the delivery is over.
func (c *Consumer) AckWithin(w *kv.Work, r Ref) error {
	_, err := c.ackWithin(w, r)
	return err
}

// ackWithin is AckWithin, and returns the consumer within the unit of work.
func (c *Consumer) ackWithin(w *kv.Work, r Ref) (*work, error) {
	tx, err := c.streams.in(w)
	if err != nil {
		return nil, err
	}
	in, err := c.in(tx)
	if err != nil {
		return nil, err
	}
	if _, err := in.held(r); err != nil {
		return nil, err
	}
	return in, in.done(r.Number)
}

// Nak says that an entry could not be handled: it is delivered again after a delay, at most MaxDelay.
// It is a dead letter, for a reason of at most MaxReason bytes, and true is returned, if it
// was delivered as often as it may be. It returns ErrFenced if the delivery is over.
func (c *Consumer) Nak(ctx context.Context, d engine.Durability, r Ref, delay time.Duration, reason string) (dead bool, err error) {
	if delay < 0 || delay > MaxDelay {
		return false, invalid("delay", "an entry is delivered again after 0 to %s", MaxDelay)
	}
	if err := checkReason(reason); err != nil {
		return false, err
	}
	err = c.update(ctx, d, func(w *work) error {
		h, err := w.held(r)
		if err != nil {
			return err
		}
		if dead = int(h.deliveries) >= w.config.MaxDeliver; dead {
			return w.buried(h, reason)
		}
		h.token, h.since = 0, w.tx.Now().Add(delay)
		return w.hold(h)
	})
	return dead && err == nil, err
}

func checkReason(reason string) error {
	if len(reason) > MaxReason {
		return beyond(CodeTooLarge, "reason", MaxReason, len(reason), "the reason has %d bytes, at most %d", len(reason), MaxReason)
	}
	if !utf8.ValidString(reason) {
		return invalid("reason", "it is no UTF-8")
	}
	return nil
}

// InProgress says that an entry is being handled: its ack wait begins anew. It returns
// ErrFenced if the delivery is over.
func (c *Consumer) InProgress(ctx context.Context, d engine.Durability, r Ref) error {
	return c.update(ctx, d, func(w *work) error {
		h, err := w.held(r)
		if err != nil {
			return err
		}
		h.since = w.tx.Now()
		return w.hold(h)
	})
}

// Terminate says that an entry can't be handled, and why, in at most MaxReason bytes: it is
// a dead letter, however often it was delivered. It returns ErrFenced if the delivery is over.
func (c *Consumer) Terminate(ctx context.Context, d engine.Durability, r Ref, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	return c.update(ctx, d, func(w *work) error {
		h, err := w.held(r)
		if err != nil {
			return err
		}
		return w.buried(h, reason)
	})
}

// giveBack ends a delivery as if it had never been: its caller has not begun.
func (c *Consumer) giveBack(ctx context.Context, d engine.Durability, r Ref) error {
	return c.update(ctx, d, func(w *work) error {
		h, err := w.held(r)
		if err != nil {
			return err
		}
		h.token, h.since, h.deliveries = 0, w.tx.Now(), h.deliveries-1
		return w.hold(h)
	})
}
