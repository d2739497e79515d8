package stream

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Consumer is a durable consumer of a stream, by its name. Any number of goroutines may use it
// at once, and any number of callers share what it is given: an entry is with one of them at a
// time. Its methods return ErrNotFound while there is no such consumer.
type Consumer struct {
	streams *Streams
	stream  string
	name    string
	key     string
}

// Consumer returns a consumer of a stream. It does not look whether it is there. It returns
// ErrInvalidArgument or ErrTooLarge for what no stream or consumer is called.
func (s *Streams) Consumer(stream, name string) (*Consumer, error) {
	if err := checkName("stream", stream); err != nil {
		return nil, err
	}
	if err := checkName("consumer", name); err != nil {
		return nil, err
	}
	return &Consumer{s, stream, name, consumerKey(stream, name)}, nil
}

// update changes the consumer by what fn does, in one batch.
func (c *Consumer) update(ctx context.Context, d engine.Durability, fn func(*work) error) error {
	return c.streams.update(ctx, d, func(tx *kv.Tx) error {
		w, err := c.in(tx)
		if err != nil {
			return err
		}
		return fn(w)
	})
}

// CreateConsumer makes a consumer of a stream, and says whether there was none. One that is
// there with the same configuration stays where it is. It returns ErrNotFound if there is no such
// stream, ErrExists for a consumer with another configuration, and ErrTooMany for more than
// MaxConsumers.
func (s *Streams) CreateConsumer(ctx context.Context, d engine.Durability, stream string, config Config) (made bool, err error) {
	if err := config.Check(); err != nil {
		return false, err
	}
	c, err := s.Consumer(stream, config.Name)
	if err != nil {
		return false, err
	}
	err = s.update(ctx, d, func(tx *kv.Tx) error {
		made = false
		if err := needStream(tx, stream); err != nil {
			return err
		}
		w, err := c.in(tx)
		if err == nil && w.config != config {
			return refuse(CodeExists, "consumer", "the consumer %q is there with another configuration: update it", config.Name)
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		if err := fewer(tx, consumersOf(stream), MaxConsumers, "consumer", "the stream has %d consumers, as many as it may: delete one", MaxConsumers); err != nil {
			return err
		}
		made = true
		if _, err := tx.Put([]byte(c.key), config.append(nil, uint64(tx.Now().UnixMilli())), kv.PutOptions{}); err != nil {
			return err
		}
		w = &work{of: c, tx: tx, config: config}
		if w.state.before, err = lastToken(tx); err != nil {
			return err
		}
		if err := w.save(); err != nil {
			return err
		}
		return w.begin(config.Start)
	})
	return made && err == nil, err
}

// begin has a consumer whose group is not there begin at a place.
func (w *work) begin(at Start) error {
	after := uint64(0)
	switch at.Policy {
	case DeliverNew:
		head, err := w.tx.Stream(w.of.stream)
		if err != nil {
			return err
		}
		after = head.Last
	case DeliverFrom:
		after = at.From - 1
	}
	_, err := w.tx.CreateGroup(w.of.stream, w.of.name, after)
	return err
}

// UpdateConsumer changes the configuration of a consumer, but for where it begins: what it has
// is delivered again and becomes a dead letter by the new one, what comes next is filtered by
// it. It returns ErrNotFound if there is no such consumer.
func (s *Streams) UpdateConsumer(ctx context.Context, d engine.Durability, stream string, config Config) error {
	if err := config.Check(); err != nil {
		return err
	}
	c, err := s.Consumer(stream, config.Name)
	if err != nil {
		return err
	}
	return c.update(ctx, d, func(w *work) error {
		config.Start = w.config.Start
		if config == w.config {
			return nil
		}
		_, err := w.tx.Put([]byte(c.key), config.append(nil, w.created), kv.PutOptions{})
		return err
	})
}

// Replay has a consumer begin again at a place. What it has delivered and nobody has
// acknowledged is over: who has it is fenced. Dead letters stay.
func (c *Consumer) Replay(ctx context.Context, d engine.Durability, at Start) error {
	if err := at.check(); err != nil {
		return err
	}
	return c.update(ctx, d, func(w *work) error {
		w.tx.Wake()
		if err := w.tx.DropGroup(c.stream, c.name); err != nil {
			return err
		}
		return w.begin(at)
	})
}

// DeleteConsumer removes a consumer with its dead letters, and says whether there was one. Where
// it is interrupted the consumer is still there, with fewer dead letters: delete it again.
func (s *Streams) DeleteConsumer(ctx context.Context, d engine.Durability, stream, name string) (existed bool, err error) {
	c, err := s.Consumer(stream, name)
	if err != nil {
		return false, err
	}
	for done := false; !done; {
		err = c.update(ctx, d, func(w *work) error {
			of := []byte(deadOf(stream, name))
			found, more, err := w.tx.ByTerm(indexKey, of, engine.Successor(of), MaxBatch)
			if err != nil {
				return err
			}
			for _, f := range found {
				if _, err := w.tx.Delete(f.Key); err != nil {
					return err
				}
			}
			w.state.dead -= min(w.state.dead, uint64(len(found)))
			if done = !more; !done {
				return w.save()
			}
			if _, err := w.tx.Delete([]byte(c.key)); err != nil {
				return err
			}
			if err := w.tx.DropGroup(stream, name); err != nil {
				return err
			}
			if err := w.tx.Keep(c.key, nil); err != nil {
				return err
			}
			last, err := lastToken(w.tx)
			if err != nil || last >= w.state.token() {
				return err
			}
			return w.tx.Keep(tokensKept, tokenBytes(w.state.token()))
		})
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// ConsumerInfo is what is known of a consumer.
type ConsumerInfo struct {
	Config
	Created     time.Time
	Delivered   uint64 // the last entry of the stream that it is past: delivered, or left out by the filter
	Deliveries  uint64 // that there were, those included that were not the first of their entry
	AckFloor    uint64 // the last entry up to which nothing is delivered and not acknowledged
	AckPending  uint64 // entries that are delivered and not acknowledged
	Redelivered uint64 // those of them that were delivered more than once
	Dead        uint64 // dead letters that are there
	Pending     uint64 // entries of the stream after Delivered, whatever the filter says of them
}

// Info returns what is known of a consumer.
func (c *Consumer) Info(ctx context.Context) (info ConsumerInfo, err error) {
	found := false
	err = c.streams.view(func(view *kv.View) error {
		r, err := view.Get([]byte(c.key))
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		info, err = consumerInfoOf(ctx, view, c.stream, r)
		return err
	})
	if err == nil && !found {
		err = noConsumer(c.stream, c.name)
	}
	return info, err
}

// ListConsumers returns what is known of the consumers of a stream, in order of their names, or
// ErrNotFound if there is no such stream.
func (s *Streams) ListConsumers(ctx context.Context, stream string) (list []ConsumerInfo, err error) {
	if err := checkName("stream", stream); err != nil {
		return nil, err
	}
	found := false
	err = s.view(func(view *kv.View) (err error) {
		if found, err = hasRecord(view, streamKey(stream)); err != nil || !found {
			return err
		}
		for r, err := range view.All(ctx, []byte(consumersOf(stream))) {
			if err != nil {
				return err
			}
			info, err := consumerInfoOf(ctx, view, stream, r)
			if err != nil {
				return err
			}
			list = append(list, info)
		}
		return nil
	})
	if err == nil && !found {
		err = noStream(stream)
	}
	return list, err
}

func consumerInfoOf(ctx context.Context, view *kv.View, stream string, r kv.Record) (info ConsumerInfo, err error) {
	name := strings.TrimPrefix(string(r.Key), consumersOf(stream))
	config, created, err := parseConfig(name, r.Value)
	if err != nil {
		return info, err
	}
	kept, err := view.Kept(string(r.Key))
	if err != nil {
		return info, err
	}
	state, err := parseState(kept)
	if err != nil {
		return info, err
	}
	head, err := view.Stream(stream)
	if err != nil {
		return info, err
	}
	group, err := view.Group(stream, name)
	if err != nil {
		return info, err
	}
	info = ConsumerInfo{
		Config: config, Created: moment(created), Delivered: group.Delivered, Deliveries: state.deliveries,
		AckFloor: group.Delivered, AckPending: group.Pending, Dead: state.dead, Pending: head.Last - group.Delivered,
	}
	pending, err := view.Pending(ctx, stream, name, 0, kv.MaxPage)
	for _, p := range pending {
		info.AckFloor = min(info.AckFloor, p.Number-1)
		if p.Deliveries > 1 {
			info.Redelivered++
		}
	}
	return info, err
}
