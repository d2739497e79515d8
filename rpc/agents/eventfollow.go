package agents

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// eventFollowing are the arguments of Follow.
type eventFollowing struct {
	op.OfTenant
	Stream string
	event.Place
}

// eventFollowed is where a stream is begun, or an entry.
type eventFollowed struct {
	After event.ID
	Entry *event.Entry
}

var eventFollow = op.NewStream(op.Method{Number: 1084, Name: "Event.Follow", Role: access.Reader, Tenant: true}, follow,
	func(f *eventFollowed) int {
		if f.Entry == nil {
			return 64
		}
		return eventSize(f.Entry)
	}, op.StreamQueue)

func follow(ctx context.Context, s *event.Store, a *eventFollowing) iter.Seq2[eventFollowed, error] {
	return func(yield func(eventFollowed, error) bool) {
		f, err := s.Open(ctx, a.Tenant)
		var after event.ID
		if err == nil {
			after, err = f.Begin(a.Stream, a.Place)
		}
		if !yield(eventFollowed{After: after}, err) || err != nil {
			return
		}
		for e, err := range f.Follow(ctx, a.Stream, after) {
			if !yield(eventFollowed{Entry: &e}, err) {
				return
			}
		}
	}
}

// Follow yields the entries of a stream from a place on, and then those to come, each once and
// in order, until ctx ends. When the connection is lost it waits for the daemon and goes on
// behind what it has yielded. The last thing that it yields is its error:
// event.ErrTrimmed, with the first id that is kept, where an entry that it has not yielded is no
// longer, so that nobody goes on behind a gap without a word.
func (e *Events) Follow(ctx context.Context, stream string, at event.Place) iter.Seq2[event.Entry, error] {
	w := eventFollower{e: e, stream: stream, at: at}
	r := caller.Resuming[eventFollowed]{Begin: w.begin, About: func(f *eventFollowed) (kv.EventKind, uint64) { return kv.EventPut, 0 }}
	r.Start = kv.FromNow // whatever at says: there is no state that is told first
	r.Wants = func(f *eventFollowed) bool { return f.Entry != nil }
	return func(yield func(event.Entry, error) bool) {
		for f, err := range r.Events(ctx) {
			if err != nil {
				yield(event.Entry{}, err)
				return
			}
			if !yield(*f.Entry, nil) {
				return
			}
		}
	}
}

// eventFollower is how far one has come who follows a stream.
type eventFollower struct {
	e      *Events
	stream string
	at     event.Place // where the next stream begins
	begun  bool        // at is behind what was yielded last
}

// begin ignores what a watch goes on behind: the follower knows the id.
func (w *eventFollower) begin(ctx context.Context, _ kv.WatchStart, _ uint64) iter.Seq2[eventFollowed, error] {
	return func(yield func(eventFollowed, error) bool) {
		for f, err := range caller.Stream(ctx, w.e.c, eventFollow, eventFollowing{op.Of(w.e.tenant), w.stream, w.at}) {
			switch {
			case err != nil:
			case f.Entry != nil:
				err = w.heard(f.Entry.ID)
			case !w.begun:
				w.at, w.begun = event.Place{After: f.After}, true
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// heard takes note of an entry. The daemon says so where some before it are missing, unless
// there were none when it was first asked, and all of them have come and gone since.
func (w *eventFollower) heard(id event.ID) error {
	if id.Seq != w.at.After.Seq+1 {
		return &event.Error{Code: event.CodeTrimmed, Field: "after", First: id,
			Reason: "what came next is no longer kept; the stream begins with " + id.String() + " by now: go on from there"}
	}
	w.at.After = id
	return nil
}
