package agents

import (
	"context"
	"iter"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// eventGroup are arguments about a group of a stream.
type eventGroup struct {
	op.OfTenant
	Stream, Group string
	Durability    engine.Durability
}

// eventGroupAt are arguments that place a group.
type eventGroupAt struct {
	eventGroup
	event.Place
}

var eventCreateGroup = op.New(op.Method{Number: 1085, Name: "Event.CreateGroup", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventGroupAt) (made bool, err error) {
		f, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return false, err
		}
		return f.CreateGroup(ctx, a.Durability, a.Stream, a.Group, a.Place)
	})

// CreateGroup makes a group of a stream that begins at a place, and says whether there was
// none; see [event.Feed.CreateGroup].
func (e *Events) CreateGroup(ctx context.Context, d engine.Durability, stream, group string, at event.Place) (bool, error) {
	return caller.Call(ctx, e.c, eventCreateGroup, eventGroupAt{eventGroup{op.Of(e.tenant), stream, group, d}, at})
}

var eventMoveGroup = op.New(op.Method{Number: 1086, Name: "Event.MoveGroup", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventGroupAt) (op.Nothing, error) {
		f, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, f.MoveGroup(ctx, a.Durability, a.Stream, a.Group, a.Place)
	})

// MoveGroup has a group go on at a place; see [event.Feed.MoveGroup].
func (e *Events) MoveGroup(ctx context.Context, d engine.Durability, stream, group string, at event.Place) error {
	_, err := caller.Call(ctx, e.c, eventMoveGroup, eventGroupAt{eventGroup{op.Of(e.tenant), stream, group, d}, at})
	return err
}

var eventDropGroup = op.New(op.Method{Number: 1087, Name: "Event.DropGroup", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventGroup) (existed bool, err error) {
		f, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return false, err
		}
		return f.DropGroup(ctx, a.Durability, a.Stream, a.Group)
	})

// DropGroup removes a group with what is pending in it, and says whether there was one; see
// [event.Feed.DropGroup].
func (e *Events) DropGroup(ctx context.Context, d engine.Durability, stream, group string) (existed bool, err error) {
	return caller.Call(ctx, e.c, eventDropGroup, eventGroup{op.Of(e.tenant), stream, group, d})
}

var eventListGroups = op.New(op.Method{Number: 1088, Name: "Event.ListGroups", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventStream) ([]event.Group, error) {
		f, err := s.Find(a.Tenant)
		if err != nil {
			return nil, err
		}
		return f.ListGroups(ctx, a.Stream)
	})

// ListGroups returns the groups of a stream in order of their names.
func (e *Events) ListGroups(ctx context.Context, stream string) ([]event.Group, error) {
	return caller.Call(ctx, e.c, eventListGroups, eventStream{op.Of(e.tenant), stream})
}

// eventConsumer are arguments of a consumer.
type eventConsumer struct {
	op.OfTenant
	Stream, Group, Consumer string
	Limit                   int
	Durability              engine.Durability
}

func (e *Events) consumer(c event.Consumer, limit int, d engine.Durability) eventConsumer {
	return eventConsumer{op.Of(e.tenant), c.Stream, c.Group, c.Name, limit, d}
}

func (a *eventConsumer) is() event.Consumer {
	return event.Consumer{Stream: a.Stream, Group: a.Group, Name: a.Consumer}
}

// eventGroupReading are the arguments of ReadGroup.
type eventGroupReading struct {
	eventConsumer
	Wait time.Duration `wire:"wait_ms"`
}

var eventReadGroup = op.NewStream(op.Method{Number: 1089, Name: "Event.ReadGroup", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventGroupReading) iter.Seq2[event.Entry, error] {
		f, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return each[event.Entry](nil, err)
		}
		return each(f.ReadGroup(ctx, a.Durability, a.is(), a.Limit, a.Wait))
	}, eventSize, op.StreamQueue)

// ReadGroup gives a consumer the next entries that no consumer of its group has had, and
// waits for some where there are none; see [event.Feed.ReadGroup]. What a client does not
// hear of, whose connection is lost, is pending as any.
func (e *Events) ReadGroup(ctx context.Context, d engine.Durability, c event.Consumer, limit int, wait time.Duration) ([]event.Entry, error) {
	return once(caller.Stream(ctx, e.c, eventReadGroup, eventGroupReading{e.consumer(c, limit, d), wait}))
}

// eventAcknowledging are the arguments of Acknowledge.
type eventAcknowledging struct {
	eventGroup
	IDs []event.ID
}

var eventAcknowledge = op.New(op.Method{Number: 1090, Name: "Event.Acknowledge", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventAcknowledging) (int, error) {
		f, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return 0, err
		}
		return f.Acknowledge(ctx, a.Durability, a.Stream, a.Group, a.IDs)
	})

// Acknowledge ends that entries are pending in a group, and returns how many were; see
// [event.Feed.Acknowledge].
func (e *Events) Acknowledge(ctx context.Context, d engine.Durability, stream, group string, ids []event.ID) (int, error) {
	return caller.Call(ctx, e.c, eventAcknowledge, eventAcknowledging{eventGroup{op.Of(e.tenant), stream, group, d}, ids})
}

// eventPendingAfter are the arguments of ListPending.
type eventPendingAfter struct {
	op.OfTenant
	Stream, Group string
	After         event.ID
	Limit         int
}

var eventPending = op.New(op.Method{Number: 1091, Name: "Event.Pending", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventPendingAfter) ([]event.Pending, error) {
		f, err := s.Find(a.Tenant)
		if err != nil {
			return nil, err
		}
		return f.ListPending(ctx, a.Stream, a.Group, a.After, a.Limit)
	})

// ListPending returns what is pending in a group behind an id; see [event.Feed.ListPending].
func (e *Events) ListPending(ctx context.Context, stream, group string, after event.ID, limit int) ([]event.Pending, error) {
	return caller.Call(ctx, e.c, eventPending, eventPendingAfter{op.Of(e.tenant), stream, group, after, limit})
}

// eventClaiming are the arguments of Claim.
type eventClaiming struct {
	eventConsumer
	Idle time.Duration `wire:"idle_ms"`
	IDs  []event.ID
}

// eventClaimed is what Claim returns.
type eventClaimed struct {
	Entries []event.Entry
	Gone    []event.ID
}

var eventClaim = op.New(op.Method{Number: 1092, Name: "Event.Claim", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *event.Store, a *eventClaiming) (c eventClaimed, err error) {
		f, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return c, err
		}
		o := event.ClaimOptions{Idle: a.Idle, Limit: a.Limit}
		if len(a.IDs) > 0 {
			o.IDs = a.IDs
		}
		c.Entries, c.Gone, err = f.Claim(ctx, a.Durability, a.is(), o)
		return c, err
	})

// Claim gives a consumer entries that are pending in its group and that nobody was given for
// some time; see [event.Feed.Claim].
func (e *Events) Claim(ctx context.Context, d engine.Durability, c event.Consumer, o event.ClaimOptions) (list []event.Entry, gone []event.ID, err error) {
	if o.IDs != nil && len(o.IDs) == 0 {
		return nil, nil, nil // none are named, which a message can't say
	}
	got, err := caller.Call(ctx, e.c, eventClaim, eventClaiming{e.consumer(c, o.Limit, d), o.Idle, o.IDs})
	return got.Entries, got.Gone, err
}
