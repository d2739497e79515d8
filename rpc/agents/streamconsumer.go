package agents

import (
	"context"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// streamConfiguring are the arguments of CreateConsumer and UpdateConsumer.
type streamConfiguring struct {
	streamNamed
	Config     stream.Config
	Durability engine.Durability
}

var streamCreateConsumer = op.New(op.Method{Number: 1408, Name: "Stream.CreateConsumer", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamConfiguring) (made bool, err error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return false, err
		}
		return t.CreateConsumer(ctx, a.Durability, a.Stream, a.Config)
	})

// CreateConsumer makes a durable consumer of a stream, and says whether there was none; see
// [stream.Streams.CreateConsumer].
func (s *Streams) CreateConsumer(ctx context.Context, d engine.Durability, name string, c stream.Config) (made bool, err error) {
	if err := c.Check(); err != nil {
		return false, err
	}
	return caller.Call(ctx, s.c, streamCreateConsumer, streamConfiguring{s.named(name), c, d})
}

var streamUpdateConsumer = op.New(op.Method{Number: 1409, Name: "Stream.UpdateConsumer", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamConfiguring) (op.Nothing, error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, t.UpdateConsumer(ctx, a.Durability, a.Stream, a.Config)
	})

// UpdateConsumer changes the configuration of a consumer, but for where it begins; see
// [stream.Streams.UpdateConsumer].
func (s *Streams) UpdateConsumer(ctx context.Context, d engine.Durability, name string, c stream.Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	_, err := caller.Call(ctx, s.c, streamUpdateConsumer, streamConfiguring{s.named(name), c, d})
	return err
}

var streamListConsumers = op.New(op.Method{Number: 1412, Name: "Stream.ListConsumers", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamNamed) ([]stream.ConsumerInfo, error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return nil, err
		}
		return t.ListConsumers(ctx, a.Stream)
	})

// ListConsumers returns what is known of the consumers of a stream, in order of their names.
func (s *Streams) ListConsumers(ctx context.Context, name string) ([]stream.ConsumerInfo, error) {
	return caller.Call(ctx, s.c, streamListConsumers, s.named(name))
}

// StreamConsumer is a durable consumer of a stream; see [stream.Consumer]. It is a view of its
// client, and as safe for concurrent use; that it is there is seen by the calls.
type StreamConsumer struct {
	c  caller.Caller
	of streamConsumer
}

// streamConsumer are arguments about a consumer.
type streamConsumer struct {
	streamNamed
	Consumer string
}

// Consumer returns a consumer of a stream. It does not look whether it is there.
func (s *Streams) Consumer(name, consumer string) *StreamConsumer {
	return &StreamConsumer{s.c, streamConsumer{s.named(name), consumer}}
}

// find returns the consumer that is meant, for who only reads.
func (a *streamConsumer) find(s *StreamStores) (*stream.Consumer, error) {
	t, err := s.Find(a.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Consumer(a.Stream, a.Consumer)
}

// streamRemoving are the arguments of DeleteConsumer.
type streamRemoving struct {
	streamConsumer
	Durability engine.Durability
}

var streamDeleteConsumer = op.New(op.Method{Number: 1410, Name: "Stream.DeleteConsumer", Role: access.Writer, Tenant: true, Long: true},
	func(ctx context.Context, s *StreamStores, a *streamRemoving) (existed bool, err error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return false, err
		}
		return t.DeleteConsumer(ctx, a.Durability, a.Stream, a.Consumer)
	})

// Delete removes the consumer with its dead letters, and says whether there was one; see
// [stream.Streams.DeleteConsumer].
func (c *StreamConsumer) Delete(ctx context.Context, d engine.Durability) (existed bool, err error) {
	return caller.Call(ctx, c.c, streamDeleteConsumer, streamRemoving{c.of, d})
}

var streamConsumerInfo = op.New(op.Method{Number: 1411, Name: "Stream.ConsumerInfo", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamConsumer) (stream.ConsumerInfo, error) {
		c, err := a.find(s)
		if err != nil {
			return stream.ConsumerInfo{}, err
		}
		return c.Info(ctx)
	})

// Info returns what is known of the consumer, or stream.ErrNotFound.
func (c *StreamConsumer) Info(ctx context.Context) (stream.ConsumerInfo, error) {
	return caller.Call(ctx, c.c, streamConsumerInfo, c.of)
}

// streamReplaying are the arguments of Replay.
type streamReplaying struct {
	streamConsumer
	Start      stream.Start
	Durability engine.Durability
}

var streamReplay = op.New(op.Method{Number: 1413, Name: "Stream.Replay", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamReplaying) (op.Nothing, error) {
		c, err := a.find(s)
		if err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, c.Replay(ctx, a.Durability, a.Start)
	})

// Replay has the consumer begin again at a place; see [stream.Consumer.Replay].
func (c *StreamConsumer) Replay(ctx context.Context, d engine.Durability, at stream.Start) error {
	_, err := caller.Call(ctx, c.c, streamReplay, streamReplaying{c.of, at, d})
	return err
}

// streamDeadAfter are the arguments of DeadLetters.
type streamDeadAfter struct {
	streamConsumer
	After uint64
	Limit int
}

// streamNumbers are the arguments of RetryDead and DropDead.
type streamNumbers struct {
	streamConsumer
	Numbers    []uint64
	Durability engine.Durability
}

var streamRetryDead = op.New(op.Method{Number: 1420, Name: "Stream.RetryDead", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamNumbers) (int, error) {
		c, err := a.find(s)
		if err != nil {
			return 0, err
		}
		return c.RetryDead(ctx, a.Durability, a.Numbers...)
	})

// RetryDead has dead letters be delivered again, and returns how many there were; see
// [stream.Consumer.RetryDead].
func (c *StreamConsumer) RetryDead(ctx context.Context, d engine.Durability, numbers ...uint64) (done int, err error) {
	return caller.Call(ctx, c.c, streamRetryDead, streamNumbers{c.of, numbers, d})
}

var streamDropDead = op.New(op.Method{Number: 1421, Name: "Stream.DropDead", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamNumbers) (int, error) {
		c, err := a.find(s)
		if err != nil {
			return 0, err
		}
		return c.DropDead(ctx, a.Durability, a.Numbers...)
	})

// DropDead removes dead letters for good, and returns how many there were.
func (c *StreamConsumer) DropDead(ctx context.Context, d engine.Durability, numbers ...uint64) (done int, err error) {
	return caller.Call(ctx, c.c, streamDropDead, streamNumbers{c.of, numbers, d})
}
