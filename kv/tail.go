package kv

import (
	"context"
	"sync"
)

// A page of changes is at most so many, of about so many bytes; more only of a single change.
const (
	watchPage  = 256
	watchBytes = 256 << 10
)

// tailBytes is about how many bytes of changes are kept for the watchers of a space.
const tailBytes = 64 << 10

// tail is the end of a space's log, which its watchers read together: what one of them has read
// the others have as well. One that is further behind reads the log by itself, and so does one
// that has no others beside it.
type tail struct {
	mu      sync.Mutex
	turn    uint64   // of the topic, up to which the tail goes; 0: there is none yet
	from    uint64   // the revision before the first change
	changes []Change // of one revision after the other; what is in there is not changed
	bytes   int      // of changes
}

// after returns changes of the space v after a revision, oldest first, as they are at that turn or
// later, and whether there may be more. Others may have them too. It returns ErrTrimmed as
// [View.Changes] does, and ErrSpaceNotFound if there is no such space any more.
func (t *topic) after(ctx context.Context, v *View, seen, turn uint64) (list []Change, more bool, err error) {
	alone := t.listeners.Load() == 1
	if alone {
		t.tail.forget()
	} else if list, more, ok := t.tail.shared(ctx, v, seen, turn); ok {
		return list, more, nil
	}
	list, more, err = pageOfChanges(ctx, v, seen)
	if err == nil && !more && !alone {
		t.tail.begin(seen, list, turn)
	}
	return list, more, err
}

// forget gives back what the tail has.
func (t *tail) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn, t.changes, t.bytes = 0, nil, 0
}

// shared is topic.after where the tail has the answer.
func (t *tail) shared(ctx context.Context, v *View, seen, turn uint64) (list []Change, more, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn == 0 || seen < t.from {
		return nil, false, false
	}
	more = t.turn < turn
	if more {
		read, left, err := pageOfChanges(ctx, v, t.from+uint64(len(t.changes)))
		if err != nil { // of this watcher, or what the others will see too
			t.turn, t.changes, t.bytes = 0, nil, 0
			return nil, false, false
		}
		if more = left; !more {
			t.turn = turn
		}
		t.add(read)
	}
	if seen < t.from { // what it should have is a page by itself
		return nil, false, false
	}
	return t.changes[min(seen-t.from, uint64(len(t.changes))):], more, true
}

// begin makes a tail of the changes after a revision, which are the end of the log, unless there is
// one.
func (t *tail) begin(from uint64, list []Change, turn uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn == 0 {
		t.from, t.turn = from, turn
		t.add(list)
	}
}

// add adds what comes next, and forgets what is too much.
func (t *tail) add(list []Change) {
	for i := range list {
		t.bytes += list[i].size()
	}
	t.changes = append(t.changes, list...)
	for len(t.changes) > watchPage || len(t.changes) > 1 && t.bytes > tailBytes {
		t.bytes -= t.changes[0].size()
		t.changes, t.from = t.changes[1:], t.from+1
	}
}

// pageOfChanges reads a page of the log of a space that is still there.
func pageOfChanges(ctx context.Context, v *View, after uint64) (list []Change, more bool, err error) {
	stats, err := v.Stats()
	if err != nil {
		return nil, false, err
	}
	size := 0
	for c, err := range v.changes(ctx, after, watchPage) {
		if err != nil {
			return nil, false, err
		}
		list = append(list, c)
		if size += c.size(); size >= watchBytes {
			return list, true, nil
		}
	}
	if len(list) == 0 && after < stats.Revision {
		return nil, false, endsBefore(after)
	}
	return list, len(list) == watchPage, nil
}
