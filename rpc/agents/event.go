package agents

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	_ "github.com/stoadb/stoa/rpc/internal/eventwire" // says how events go over the wire
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Events are the streams of a tenant, in which its tasks, approvals and locks tell what
// happens to them; see package event. Beside the errors of calls methods return
// [*event.Error]. Times that are waited for count in milliseconds, of which a part is one.
// It is a view of its client, and as safe for concurrent use.
//
// What is published and read is in this file, what is followed in eventfollow.go, groups of
// consumers in eventgroup.go.
type Events struct {
	c      caller.Caller
	tenant string
}

// NewEvents returns the streams of a tenant; "" is the tenant that the daemon binds this user
// to.
func NewEvents(c caller.Caller, tenant string) *Events { return &Events{c, tenant} }

// eventPublishing are the arguments of Publish.
type eventPublishing struct {
	op.OfTenant
	Stream     string
	Events     []event.Event
	Durability engine.Durability
}

var eventPublish = op.New(op.Method{Number: 1081, Name: "Event.Publish", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventPublishing) ([]event.ID, error) {
		f, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return nil, err
		}
		return f.Publish(ctx, a.Durability, a.Stream, a.Events)
	})

// Publish adds events to a stream in one batch, in their order, at most event.MaxBatch and
// 32 MiB of them, and returns their ids; see [event.Feed.Publish].
func (e *Events) Publish(ctx context.Context, d engine.Durability, stream string, events []event.Event) ([]event.ID, error) {
	return caller.Call(ctx, e.c, eventPublish, eventPublishing{op.Of(e.tenant), stream, events, d})
}

// eventSpan are the arguments of Range.
type eventSpan struct {
	op.OfTenant
	Stream string
	event.RangeOptions
}

var eventRange = op.New(op.Method{Number: 1082, Name: "Event.Range", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventSpan) ([]event.Entry, error) {
		f, err := s.Find(a.Tenant)
		if err != nil {
			return nil, err
		}
		return f.Range(ctx, a.Stream, a.RangeOptions)
	})

// Range returns entries of a stream from an id to another; see [event.Feed.Range].
func (e *Events) Range(ctx context.Context, stream string, o event.RangeOptions) ([]event.Entry, error) {
	return caller.Call(ctx, e.c, eventRange, eventSpan{op.Of(e.tenant), stream, o})
}

// eventReading are the arguments of Read.
type eventReading struct {
	op.OfTenant
	Stream string
	event.ReadOptions
}

var eventRead = op.NewStream(op.Method{Number: 1083, Name: "Event.Read", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventReading) iter.Seq2[event.Entry, error] {
		f, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return each[event.Entry](nil, err)
		}
		return each(f.Read(ctx, a.Stream, a.ReadOptions))
	}, eventSize, op.StreamQueue)

// eventSize is about how many bytes an entry takes.
func eventSize(e *event.Entry) int { return 96 + len(e.Name) + len(e.Source) + len(e.Payload) }

// Read returns the entries of a stream after an id, and waits for some where there are none:
// none, if none came. It returns event.ErrTrimmed where what comes next is no longer kept;
// see [event.Feed.Read].
func (e *Events) Read(ctx context.Context, stream string, o event.ReadOptions) ([]event.Entry, error) {
	return once(caller.Stream(ctx, e.c, eventRead, eventReading{op.Of(e.tenant), stream, o}))
}

// eventStream are the arguments of Info.
type eventStream struct {
	op.OfTenant
	Stream string
}

var eventInfo = op.New(op.Method{Number: 1093, Name: "Event.Info", Role: access.Reader, Tenant: true, Short: true},
	func(_ context.Context, s *event.Store, a *eventStream) (event.Info, error) {
		f, err := s.Find(a.Tenant)
		if err != nil {
			return event.Info{}, err
		}
		return f.Info(a.Stream)
	})

// Info returns what is known of a stream.
func (e *Events) Info(ctx context.Context, stream string) (event.Info, error) {
	return caller.Call(ctx, e.c, eventInfo, eventStream{op.Of(e.tenant), stream})
}

// eventKey are the arguments of Lookup.
type eventKey struct {
	op.OfTenant
	Key string
}

var eventLookup = op.New(op.Method{Number: 1094, Name: "Event.Lookup", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventKey) (json.RawMessage, error) {
		return s.Lookup(ctx, a.Tenant, a.Key)
	})

// Lookup returns what a literal key stands for; see [event.Store.Lookup]. What is longer than
// a message, 32 MiB, is read by [Events.Range].
func (e *Events) Lookup(ctx context.Context, key string) (json.RawMessage, error) {
	return caller.Call(ctx, e.c, eventLookup, eventKey{op.Of(e.tenant), key})
}
