package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/subject"
)

// Ref is a delivery, to who says what came of it.
type Ref struct {
	Number uint64 // of the entry
	Token  uint64 // greater than that of every delivery before, by the consumer or by others that had its name
}

// Delivery is an entry that a caller has, until it says what came of it or AckWait is over.
type Delivery struct {
	Entry
	Token      uint64 // see [Ref]
	Deliveries int    // of the entry so far, this one included
}

// Ref returns what the delivery is known by.
func (d *Delivery) Ref() Ref { return Ref{d.Number, d.Token} }

// FetchOptions say what a fetch delivers.
type FetchOptions struct {
	Limit int           // entries at most; 0: 100; at most MaxBatch
	Wait  time.Duration // for an entry, if there is none; at most MaxWait
	// InOrder delivers one entry, if no other is delivered and not acknowledged, and that one
	// before all others.
	InOrder bool
}

// Fetch delivers entries of a consumer to the caller, in the order of the stream: first
// those that were delivered before and are due again, then the next ones. Where there are none it
// waits for some: none, if none came. It returns ErrTrimmed if the entry that comes next is no longer
// kept, until the consumer is replayed from where the stream begins by now; and ErrTooMany where
// entries that were delivered as often as they may be find no room among the dead letters.
func (c *Consumer) Fetch(ctx context.Context, d engine.Durability, o FetchOptions) ([]Delivery, error) {
	if err := checkLimit(&o.Limit); err != nil {
		return nil, err
	}
	if o.Wait < 0 || o.Wait > MaxWait {
		return nil, invalid("wait", "a fetch waits for 0 to %s", MaxWait)
	}
	if o.InOrder {
		o.Limit = 1
	}
	return c.await(ctx, d, o)
}

// await is Fetch of what has been checked. It wakes when something has changed, and when
// something is due to be delivered again.
func (c *Consumer) await(ctx context.Context, d engine.Durability, wanted FetchOptions) (list []Delivery, err error) {
	if c.streams.space == nil {
		return nil, noStreams()
	}
	until := c.streams.store.kv.Now().Add(wanted.Wait)
	for moment := until; ; {
		var next time.Time
		err = c.streams.space.Await(ctx, moment, func() (found bool, err error) {
			list, next, err = c.take(ctx, d, wanted)
			return len(list) > 0 || !next.IsZero() && next.Before(moment), err
		})
		if err != nil {
			return nil, told(err)
		}
		if len(list) > 0 || !c.streams.store.kv.Now().Before(until) {
			return list, nil
		}
		moment = next
		if next.IsZero() || next.After(until) {
			moment = until
		}
	}
}

// prospect is what a consumer may deliver, as it was in some state of the streams.
type prospect struct {
	due    []uint64  // delivered before, and due again
	cursor uint64    // where the consumer was
	fresh  []uint64  // that come next
	past   uint64    // up to which those are all that it is given
	more   bool      // there are entries beyond that
	next   time.Time // when something is due that is not yet; zero: nothing
}

// take delivers what there is, and returns when something is due again; zero: nothing is. What
// it has looked up is looked at once more in the batch, as others take too; who loses is woken
// by who wins.
func (c *Consumer) take(ctx context.Context, d engine.Durability, wanted FetchOptions) (list []Delivery, next time.Time, err error) {
	for more := true; more && len(list) == 0 && err == nil; {
		list, next, more, err = c.takeSome(ctx, d, wanted)
	}
	return list, next, err
}

// takeSome is take of what the filter finds among the next entries, of which more says that there
// are others behind them.
func (c *Consumer) takeSome(ctx context.Context, d engine.Durability, wanted FetchOptions) (list []Delivery, next time.Time, more bool, err error) {
	var p prospect
	err = c.streams.view(func(view *kv.View) (err error) {
		p, err = c.look(ctx, view, wanted)
		return err
	})
	if err != nil || len(p.due) == 0 && p.past == p.cursor {
		return nil, p.next, false, err
	}
	err = c.update(ctx, d, func(w *work) error {
		list, err = w.deliver(&p, wanted)
		return err
	})
	if err != nil {
		return nil, p.next, false, err
	}
	return list, p.next, p.more, nil
}

// look finds what a consumer may deliver.
func (c *Consumer) look(ctx context.Context, view *kv.View, wanted FetchOptions) (p prospect, err error) {
	r, err := view.Get([]byte(c.key))
	if errors.Is(err, kv.ErrNotFound) {
		if _, err := view.Stats(); err != nil {
			return p, err // the tenant was dropped
		}
		return p, noConsumer(c.stream, c.name)
	}
	if err != nil {
		return p, err
	}
	config, _, err := parseConfig(c.name, r.Value)
	if err != nil {
		return p, err
	}
	group, err := view.Group(c.stream, c.name)
	if err != nil {
		return p, err
	}
	p.cursor, p.past = group.Delivered, group.Delivered
	if group.Pending > 0 {
		if err := c.lookAgain(ctx, view, &p, config.AckWait, wanted); err != nil {
			return p, err
		}
	}
	room := min(wanted.Limit-len(p.due), wanted.most(&config)-int(group.Pending))
	if room <= 0 {
		return p, nil
	}
	filter, err := filterOf(config.Filter)
	if err != nil {
		return p, damaged("consumer %q: %s", c.name, err)
	}
	return p, c.lookAhead(ctx, view, &p, filter, room)
}

// most is how many entries are delivered and not acknowledged at most.
func (o *FetchOptions) most(c *Config) int {
	if o.InOrder {
		return 1
	}
	return c.MaxAckPending
}

// lookAgain finds what is due again.
func (c *Consumer) lookAgain(ctx context.Context, view *kv.View, p *prospect, ackWait time.Duration, wanted FetchOptions) error {
	pending, err := view.Pending(ctx, c.stream, c.name, 0, kv.MaxPage)
	if err != nil {
		return err
	}
	if wanted.InOrder && len(pending) > 1 {
		pending = pending[:1]
	}
	for i := range pending {
		h, err := holdingOf(pending[i])
		if err != nil {
			return err
		}
		due := h.due(ackWait)
		switch {
		case due.After(view.Time()):
			if p.next.IsZero() || due.Before(p.next) {
				p.next = due
			}
		case len(p.due) < wanted.Limit:
			p.due = append(p.due, h.number)
		}
	}
	return nil
}

// lookAhead finds what comes next, of at most maxLook entries.
func (c *Consumer) lookAhead(ctx context.Context, view *kv.View, p *prospect, filter *subject.Filter, room int) error {
	head, err := view.Stream(c.stream)
	if err != nil || p.cursor >= head.Last {
		return err
	}
	first, err := view.FirstEntry(c.stream)
	if err != nil {
		return err
	}
	if p.cursor+1 < first {
		return trimmed(p.cursor+1, first)
	}
	if filter == nil {
		for p.past < head.Last && len(p.fresh) < room {
			p.past++
			p.fresh = append(p.fresh, p.past)
		}
		return nil
	}
	for p.past < head.Last && p.past-p.cursor < maxLook {
		some, err := view.Entries(ctx, c.stream, p.past, plainLimit)
		if err != nil || len(some) == 0 {
			return err
		}
		for _, e := range some {
			entry, err := entryOf(e)
			if err != nil {
				return err
			}
			if takes(filter, entry.Subject) {
				if len(p.fresh) == room {
					return nil
				}
				p.fresh = append(p.fresh, e.Number)
			}
			p.past = e.Number
		}
	}
	p.more = p.past < head.Last
	return nil
}

// deliver delivers what was found and still is so: what is due, if nobody has taken it since, and
// what comes next, if the consumer is where it was.
func (w *work) deliver(p *prospect, wanted FetchOptions) (list []Delivery, err error) {
	size := 0
	for _, n := range p.due {
		before := len(list)
		if list, err = w.again(list, n); err != nil {
			return nil, err
		}
		if len(list) > before {
			size += list[before].size()
		}
		if size >= MaxBytes {
			break
		}
	}
	if list, err = w.ahead(list, p, wanted, size); err != nil {
		return nil, err
	}
	holdings := make([]holding, len(list))
	for i := range list {
		holdings[i] = holding{list[i].Number, list[i].Token, w.tx.Now(), uint32(list[i].Deliveries)}
	}
	if err := w.hold(holdings...); err != nil {
		return nil, err
	}
	return list, w.save()
}

// again delivers an entry once more, if it is due; one that was delivered as often as it may be, or
// is no longer kept, becomes a dead letter.
func (w *work) again(list []Delivery, n uint64) ([]Delivery, error) {
	p, err := w.tx.Pending(w.of.stream, w.of.name, n)
	if errors.Is(err, kv.ErrNotFound) {
		return list, nil
	}
	if err != nil {
		return list, err
	}
	h, err := holdingOf(p)
	if err != nil || h.due(w.config.AckWait).After(w.tx.Now()) {
		return list, err
	}
	if int(h.deliveries) >= w.config.MaxDeliver {
		return list, w.bury(h, reasonUnacked)
	}
	e, err := w.tx.Entry(w.of.stream, n)
	if errors.Is(err, kv.ErrTrimmed) {
		return list, w.bury(h, reasonTrimmed)
	}
	if err != nil {
		return list, err
	}
	return w.give(list, e, int(h.deliveries)+1)
}

// ahead delivers the entries that come next, and moves the consumer past them.
func (w *work) ahead(list []Delivery, p *prospect, wanted FetchOptions, size int) ([]Delivery, error) {
	group, err := w.tx.Group(w.of.stream, w.of.name)
	if err != nil || group.Delivered != p.cursor || p.past == p.cursor {
		return list, err
	}
	room, past := wanted.most(&w.config)-int(group.Pending), p.past
	for _, n := range p.fresh {
		if room == 0 || size >= MaxBytes {
			past = n - 1
			break
		}
		if _, err := w.tx.Pending(w.of.stream, w.of.name, n); err == nil {
			continue // it was a dead letter that is to be delivered again, before the consumer was moved back
		} else if !errors.Is(err, kv.ErrNotFound) {
			return list, err
		}
		e, err := w.tx.Entry(w.of.stream, n)
		if errors.Is(err, kv.ErrTrimmed) {
			first, err := w.tx.FirstEntry(w.of.stream)
			if err != nil {
				return list, err
			}
			return list, trimmed(n, first)
		}
		if err != nil {
			return list, err
		}
		if list, err = w.give(list, e, 1); err != nil {
			return list, err
		}
		room, size = room-1, size+list[len(list)-1].size()
	}
	return list, w.tx.MoveGroup(w.of.stream, w.of.name, past)
}

// give adds a delivery of an entry to others.
func (w *work) give(list []Delivery, e kv.Entry, deliveries int) ([]Delivery, error) {
	e.Payload = slices.Clone(e.Payload)
	entry, err := entryOf(e)
	if err != nil {
		return list, err
	}
	w.state.deliveries++
	return append(list, Delivery{entry, w.state.token(), deliveries}), nil
}
