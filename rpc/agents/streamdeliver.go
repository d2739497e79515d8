package agents

import (
	"context"
	"iter"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// streamFetching are the arguments of Fetch.
type streamFetching struct {
	streamConsumer
	stream.FetchOptions
	Durability engine.Durability
}

var streamFetch = op.NewStream(op.Method{Number: 1414, Name: "Stream.Fetch", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamFetching) iter.Seq2[stream.Delivery, error] {
		c, err := a.find(s)
		if err != nil {
			return each[stream.Delivery](nil, err)
		}
		return each(c.Fetch(ctx, a.Durability, a.FetchOptions))
	}, func(d *stream.Delivery) int { return streamEntrySize(&d.Entry) }, op.StreamQueue)

// streamEntrySize is about how many bytes an entry takes.
func streamEntrySize(e *stream.Entry) int { return 96 + len(e.Subject) + len(e.Payload) }

// Fetch delivers entries to the caller, and waits for some where there are none: none, if none
// came; see [stream.Consumer.Fetch]. What a client does not hear of, whose connection is lost,
// is delivered again after the ack wait.
func (c *StreamConsumer) Fetch(ctx context.Context, d engine.Durability, o stream.FetchOptions) ([]stream.Delivery, error) {
	return once(caller.Stream(ctx, c.c, streamFetch, streamFetching{c.of, o, d}))
}

// streamAcking are the arguments of Ack.
type streamAcking struct {
	streamConsumer
	Refs       []stream.Ref
	Durability engine.Durability
}

var streamAck = op.New(op.Method{Number: 1415, Name: "Stream.Ack", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamAcking) (int, error) {
		c, err := a.find(s)
		if err != nil {
			return 0, err
		}
		return c.Ack(ctx, a.Durability, a.Refs...)
	})

// Ack says that entries are handled, and returns how many were with their callers still; see
// [stream.Consumer.Ack].
func (c *StreamConsumer) Ack(ctx context.Context, d engine.Durability, list ...stream.Ref) (done int, err error) {
	return caller.Call(ctx, c.c, streamAck, streamAcking{c.of, list, d})
}

// streamDelivered are arguments about a delivery.
type streamDelivered struct {
	streamConsumer
	stream.Ref
	Durability engine.Durability
}

// streamNaking are the arguments of Nak.
type streamNaking struct {
	streamDelivered
	Delay  time.Duration `wire:"delay_ms"`
	Reason string
}

var streamNak = op.New(op.Method{Number: 1416, Name: "Stream.Nak", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamNaking) (dead bool, err error) {
		c, err := a.find(s)
		if err != nil {
			return false, err
		}
		return c.Nak(ctx, a.Durability, a.Ref, a.Delay, a.Reason)
	})

// Nak says that an entry could not be handled, and returns whether it is a dead letter now; see
// [stream.Consumer.Nak].
func (c *StreamConsumer) Nak(ctx context.Context, d engine.Durability, r stream.Ref, delay time.Duration, reason string) (dead bool, err error) {
	return caller.Call(ctx, c.c, streamNak, streamNaking{streamDelivered{c.of, r, d}, delay, reason})
}

var streamInProgress = op.New(op.Method{Number: 1417, Name: "Stream.InProgress", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamDelivered) (op.Nothing, error) {
		c, err := a.find(s)
		if err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, c.InProgress(ctx, a.Durability, a.Ref)
	})

// InProgress says that an entry is being handled: its ack wait begins anew. It returns
// stream.ErrFenced if the delivery is over.
func (c *StreamConsumer) InProgress(ctx context.Context, d engine.Durability, r stream.Ref) error {
	_, err := caller.Call(ctx, c.c, streamInProgress, streamDelivered{c.of, r, d})
	return err
}

// streamTerminating are the arguments of Terminate.
type streamTerminating struct {
	streamDelivered
	Reason string
}

var streamTerminate = op.New(op.Method{Number: 1418, Name: "Stream.Terminate", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamTerminating) (op.Nothing, error) {
		c, err := a.find(s)
		if err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, c.Terminate(ctx, a.Durability, a.Ref, a.Reason)
	})

// Terminate says that an entry can't be handled, and why: it is a dead letter. It returns
// stream.ErrFenced if the delivery is over.
func (c *StreamConsumer) Terminate(ctx context.Context, d engine.Durability, r stream.Ref, reason string) error {
	_, err := caller.Call(ctx, c.c, streamTerminate, streamTerminating{streamDelivered{c.of, r, d}, reason})
	return err
}

var streamDeadLetters = op.NewStream(op.Method{Number: 1419, Name: "Stream.DeadLetters", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamDeadAfter) iter.Seq2[stream.DeadLetter, error] {
		c, err := a.find(s)
		if err != nil {
			return each[stream.DeadLetter](nil, err)
		}
		return each(c.DeadLetters(ctx, a.After, a.Limit))
	}, func(l *stream.DeadLetter) int { return streamEntrySize(&l.Entry) + len(l.Reason) }, op.StreamQueue)

// DeadLetters returns the dead letters of the consumer after an entry, in the order of the
// stream; see [stream.Consumer.DeadLetters].
func (c *StreamConsumer) DeadLetters(ctx context.Context, after uint64, limit int) ([]stream.DeadLetter, error) {
	return once(caller.Stream(ctx, c.c, streamDeadLetters, streamDeadAfter{c.of, after, limit}))
}
