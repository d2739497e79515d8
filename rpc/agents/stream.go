package agents

import (
	"context"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
	_ "github.com/stoadb/stoa/rpc/internal/streamwire" // says how streams go over the wire
)

// Streams are the named streams of a tenant, which are the truth of what happened; see package
// stream. Beside the errors of calls methods return [*stream.Error]. It is a view of its client,
// and as safe for concurrent use.
//
// The streams are in this file, their consumers in streamconsumer.go, what is delivered and what
// comes of that in streamdeliver.go, projections in streamproject.go.
type Streams struct {
	c      caller.Caller
	tenant string
}

// NewStreams returns the streams of a tenant; "" is the tenant that the daemon binds this user
// to.
func NewStreams(c caller.Caller, tenant string) *Streams { return &Streams{c, tenant} }

// StreamStores are what the Stream service is served by: the streams, and the buckets that they are
// projected to; nil: there are none.
type StreamStores struct {
	*stream.Store
	Buckets *bucket.Store
}

// streamNamed are arguments about a stream.
type streamNamed struct {
	op.OfTenant
	Stream string
}

func (s *Streams) named(name string) streamNamed { return streamNamed{op.Of(s.tenant), name} }

// streamLimiting are the arguments of Create and Limit.
type streamLimiting struct {
	streamNamed
	Limits     kv.StreamLimits
	Durability engine.Durability
}

var streamCreate = op.New(op.Method{Number: 1401, Name: "Stream.Create", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamLimiting) (made bool, err error) {
		t, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return false, err
		}
		return t.Create(ctx, a.Durability, a.Stream, a.Limits)
	})

// Create makes a stream, and says whether there was none; see [stream.Streams.Create].
func (s *Streams) Create(ctx context.Context, d engine.Durability, name string, limits kv.StreamLimits) (made bool, err error) {
	if err := stream.CheckLimits(name, limits); err != nil {
		return false, err
	}
	return caller.Call(ctx, s.c, streamCreate, streamLimiting{s.named(name), limits, d})
}

var streamLimit = op.New(op.Method{Number: 1402, Name: "Stream.Limit", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamLimiting) (op.Nothing, error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, t.Limit(ctx, a.Durability, a.Stream, a.Limits)
	})

// Limit has a stream keep entries within other limits from now on; see [stream.Streams.Limit].
func (s *Streams) Limit(ctx context.Context, d engine.Durability, name string, limits kv.StreamLimits) error {
	if err := stream.CheckLimits(name, limits); err != nil {
		return err
	}
	_, err := caller.Call(ctx, s.c, streamLimit, streamLimiting{s.named(name), limits, d})
	return err
}

// streamDeleting are the arguments of Delete.
type streamDeleting struct {
	streamNamed
	Durability engine.Durability
}

var streamDelete = op.New(op.Method{Number: 1403, Name: "Stream.Delete", Role: access.Writer, Tenant: true, Long: true},
	func(ctx context.Context, s *StreamStores, a *streamDeleting) (existed bool, err error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return false, err
		}
		return t.Delete(ctx, a.Durability, a.Stream)
	})

// Delete removes a stream with its entries and consumers, and says whether there was one; see
// [stream.Streams.Delete].
func (s *Streams) Delete(ctx context.Context, d engine.Durability, name string) (existed bool, err error) {
	return caller.Call(ctx, s.c, streamDelete, streamDeleting{s.named(name), d})
}

var streamInfo = op.New(op.Method{Number: 1404, Name: "Stream.Info", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamNamed) (stream.Info, error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return stream.Info{}, err
		}
		return t.Info(ctx, a.Stream)
	})

// Info returns what is known of a stream, or stream.ErrNotFound.
func (s *Streams) Info(ctx context.Context, name string) (stream.Info, error) {
	return caller.Call(ctx, s.c, streamInfo, s.named(name))
}

var streamList = op.New(op.Method{Number: 1405, Name: "Stream.List", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *op.OfTenant) ([]stream.Info, error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return nil, err
		}
		return t.List(ctx)
	})

// List returns what is known of all streams, in order of their names.
func (s *Streams) List(ctx context.Context) ([]stream.Info, error) {
	return caller.Call(ctx, s.c, streamList, op.Of(s.tenant))
}

// streamPublishing are the arguments of Publish.
type streamPublishing struct {
	streamNamed
	Messages []stream.Message
	stream.AppendOptions
	Durability engine.Durability
}

var streamPublish = op.New(op.Method{Number: 1406, Name: "Stream.Publish", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamPublishing) (last uint64, err error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return 0, err
		}
		return t.Publish(ctx, a.Durability, a.Stream, a.AppendOptions, a.Messages...)
	})

// Publish adds messages to a stream in one batch, in their order, and returns the number of the
// last one; see [stream.Streams.Append].
func (s *Streams) Publish(ctx context.Context, d engine.Durability, name string, o stream.AppendOptions, list ...stream.Message) (last uint64, err error) {
	return caller.Call(ctx, s.c, streamPublish, streamPublishing{s.named(name), list, o, d})
}

// streamSpan are the arguments of Range.
type streamSpan struct {
	streamNamed
	stream.RangeOptions
}

// streamPage is what Range returns.
type streamPage struct {
	Entries []stream.Entry
	Next    uint64
}

var streamRange = op.New(op.Method{Number: 1407, Name: "Stream.Range", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *StreamStores, a *streamSpan) (p streamPage, err error) {
		t, err := s.Find(a.Tenant)
		if err != nil {
			return p, err
		}
		p.Entries, p.Next, err = t.Range(ctx, a.Stream, a.RangeOptions)
		return p, err
	})

// Range returns entries of a stream from a number to another, and the number that the next page
// goes on with, From's or, in reverse, To's; 0: there is none. See [stream.Streams.Range].
func (s *Streams) Range(ctx context.Context, name string, o stream.RangeOptions) (list []stream.Entry, next uint64, err error) {
	p, err := caller.Call(ctx, s.c, streamRange, streamSpan{s.named(name), o})
	return p.Entries, p.Next, err
}
