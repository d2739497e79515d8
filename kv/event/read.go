package event

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/stoadb/stoa/kv"
)

// Info is what is known of a stream.
type Info struct {
	Stream  string
	Entries uint64 // that are kept
	First   ID     // the first that is kept; the zero ID if none is
	Last    ID     // the last that was added, whether it is kept or not; the zero ID if none was
}

// Info returns what is known of a stream.
func (f *Feed) Info(stream string) (Info, error) {
	info := Info{Stream: stream}
	if err := checkStream(stream); err != nil {
		return info, err
	}
	view, err := f.view()
	if view == nil || err != nil {
		return info, told(err)
	}
	defer func() { _ = view.Close() }()
	head, err := view.Stream(stream)
	if err != nil || head.Last == 0 {
		return info, told(err)
	}
	info.Last = ID{uint64(head.Newest.UnixMilli()), head.Last}
	first, err := view.FirstEntry(stream)
	if err != nil {
		return info, told(err)
	}
	if info.Entries = head.Last + 1 - first; info.Entries > 0 {
		e, err := view.Entry(stream, first)
		if err != nil {
			return info, told(err)
		}
		info.First = idOf(e)
	}
	return info, nil
}

// RangeOptions say what a range has. The zero RangeOptions are the first entries.
type RangeOptions struct {
	From, To ID  // both included; To of the zero ID is no bound
	Limit    int // 0: 100; at most kv.MaxPage
	Reverse  bool
}

// Range returns entries of a stream from an id to another, oldest first, or newest first
// if Reverse is set; fewer than Limit if they are as long as 8 MiB together.
func (f *Feed) Range(ctx context.Context, stream string, o RangeOptions) ([]Entry, error) {
	if err := checkStream(stream); err != nil {
		return nil, err
	}
	if o.Limit < 0 || o.Limit > kv.MaxPage {
		return nil, invalid("limit", "a page has 1 to %d entries, and 0 is %d", kv.MaxPage, plainLimit)
	}
	view, err := f.view()
	if view == nil || err != nil {
		return nil, told(err)
	}
	defer func() { _ = view.Close() }()
	from, err := numberOf(view, stream, o.From, false)
	if err != nil {
		return nil, told(err)
	}
	until := uint64(math.MaxUint64)
	if !o.To.IsZero() {
		if until, err = numberOf(view, stream, o.To, true); err != nil {
			return nil, told(err)
		}
	}
	var list []kv.Entry
	if o.Reverse {
		list, err = view.EntriesBack(ctx, stream, until, o.Limit)
	} else {
		list, err = view.Entries(ctx, stream, from-1, o.Limit)
	}
	if err != nil {
		return nil, told(err)
	}
	within := list[:0]
	for _, e := range list {
		if e.Number >= from && e.Number < until {
			within = append(within, e)
		}
	}
	return entriesOf(within)
}

// numberOf is the number of the first entry whose id is id or greater, or greater only; one
// more than that of the last entry if there is none.
func numberOf(view *kv.View, stream string, id ID, greater bool) (uint64, error) {
	n := id.Seq
	if greater && n < math.MaxUint64 {
		n++
	}
	if is, err := nameOf(view, stream, id.Seq); err != nil || is == id && id.Seq > 0 {
		return n, err // it is there
	}
	at := time.UnixMilli(int64(id.Ms))
	first, err := view.EntriesSince(stream, at)
	if err != nil {
		return 0, err
	}
	later, err := view.EntriesSince(stream, at.Add(time.Millisecond))
	if err != nil {
		return 0, err
	}
	return min(max(n, first), later), nil // those of that ms are from first to later
}

// ReadOptions say what a read has.
type ReadOptions struct {
	After ID            // entries behind this one; the zero ID: from the first that is kept
	Limit int           // 0: 100; at most kv.MaxPage
	Wait  time.Duration // for an entry, if there is none; at most MaxWait
}

// Read returns the entries of a stream after an id, oldest first, and waits for some where
// there are none: none, if none came. It returns ErrTrimmed if the entry that follows the
// one that After names is no longer kept.
func (f *Feed) Read(ctx context.Context, stream string, o ReadOptions) ([]Entry, error) {
	if err := checkStream(stream); err != nil {
		return nil, err
	}
	if err := checkWait(o.Wait); err != nil {
		return nil, err
	}
	if o.Limit < 0 || o.Limit > kv.MaxPage {
		return nil, invalid("limit", "a page has 1 to %d entries, and 0 is %d", kv.MaxPage, plainLimit)
	}
	if f.space == nil {
		return nil, kv.ErrSpaceNotFound
	}
	var list []Entry
	err := f.space.Await(ctx, f.until(o.Wait), func() (found bool, err error) {
		list, err = f.after(ctx, stream, o.After, o.Limit)
		return len(list) > 0, err
	})
	return list, told(err)
}

func checkWait(wait time.Duration) error {
	if wait < 0 || wait > MaxWait {
		return invalid("wait", "a read waits for 0 to %s", MaxWait)
	}
	return nil
}

func (f *Feed) until(wait time.Duration) time.Time { return f.store.kv.Now().Add(wait) }

// after returns entries after an id, or ErrTrimmed.
func (f *Feed) after(ctx context.Context, stream string, id ID, limit int) ([]Entry, error) {
	view, err := f.view()
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	n, err := numberOf(view, stream, id, true)
	if err != nil {
		return nil, err
	}
	if err := whole(view, stream, id); err != nil {
		return nil, err
	}
	list, err := view.Entries(ctx, stream, n-1, limit)
	if err != nil {
		return nil, err
	}
	return entriesOf(list)
}

// whole returns ErrTrimmed if the entry that follows the one of an id is no longer kept.
func whole(view *kv.View, stream string, id ID) error {
	if id.Seq == 0 {
		return nil // a moment, of which nobody says that it was an entry's
	}
	first, err := view.FirstEntry(stream)
	if err != nil || id.Seq >= first-1 {
		return err
	}
	return trimmed(view, stream, first)
}

// trimmed is the error of who has missed what was before an entry.
func trimmed(view *kv.View, stream string, first uint64) error {
	id := ID{Seq: first}
	if e, err := view.Entry(stream, first); err == nil {
		id = idOf(e)
	} else if head, err := view.Stream(stream); err == nil {
		id.Ms = uint64(head.Newest.UnixMilli())
	} else {
		return err
	}
	e := refuse(CodeTrimmed, "after", "what comes next is no longer kept; the stream begins with %s by now: go on from there", id)
	e.First = id
	return e
}

// Follow yields the entries of a stream after an id, and then those to come, until ctx ends
// or the tenant is dropped, whose error is the last thing it yields; so is ErrTrimmed, if
// an entry that it has not yielded is no longer kept.
func (f *Feed) Follow(ctx context.Context, stream string, after ID) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			list, err := f.Read(ctx, stream, ReadOptions{After: after, Wait: MaxWait})
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
				after = e.ID
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
		}
	}
}

// isGone reports whether an error is that an entry is not kept.
func isGone(err error) bool { return errors.Is(err, kv.ErrTrimmed) }
