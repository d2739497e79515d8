package record

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
)

// Event is what a watcher is told; see [kv.Event].
type Event struct {
	Kind     kv.EventKind
	Revision uint64 // to go on after
	Doc      Doc    // of put; of delete and expire its ID is set, and its JSON is nil
}

// WatchOptions say what is watched. The zero WatchOptions are all records of the
// collection, as they are first.
type WatchOptions struct {
	ID    string // of the only record that is watched; "": all
	Start kv.WatchStart
	After uint64 // with kv.FromRevision: the last revision that the watcher has seen
}

// Watch yields what happens to the records of a collection, in order of the revisions,
// without gap and without repetition; see [kv.Space.Watch]. Whether a record is in
// force is not looked at. A tenant that has nothing gets its space by it.
func (s *Store) Watch(ctx context.Context, tenant, collection string, o WatchOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c, err := s.Collection(collection)
		if err != nil {
			yield(Event{}, err)
			return
		}
		options := kv.WatchOptions{Start: o.Start, After: o.After}
		if o.ID != "" {
			if !c.ID.fits(o.ID) {
				yield(Event{}, c.told(noRecord(o.ID)))
				return
			}
			options.Prefix = c.ID.key(o.ID)
		}
		space, err := s.Space(ctx, tenant, collection)
		if err != nil {
			yield(Event{}, err)
			return
		}
		for e, err := range space.Watch(ctx, options) {
			if err != nil {
				yield(Event{}, c.told(err))
				return
			}
			out := Event{Kind: e.Kind, Revision: e.Revision}
			if e.Record.Key != nil {
				if o.ID != "" && c.ID.of(e.Record.Key) != o.ID {
					continue
				}
				if out.Doc, err = c.doc(e.Record); err != nil {
					yield(Event{}, err)
					return
				}
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}
