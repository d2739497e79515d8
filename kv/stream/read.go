package stream

import (
	"context"
	"errors"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/subject"
)

// RangeOptions say what a range has. The zero RangeOptions are the first entries.
type RangeOptions struct {
	From, To uint64 // numbers, both included; To of 0 is no bound
	Filter   string // of subjects, as orders.*; "": all
	Limit    int    // 0: 100; at most MaxBatch
	Reverse  bool   // the newest first
}

// Range returns entries of a stream, oldest first, or newest first if Reverse is set, and the
// number that the next page goes on with, From's or, in reverse, To's; 0: there is none. A page
// has fewer than Limit, or none, where entries are long, and where a filter finds few. It returns
// ErrNotFound if there is no such stream.
func (s *Streams) Range(ctx context.Context, stream string, o RangeOptions) (list []Entry, next uint64, err error) {
	if err := checkName("stream", stream); err != nil {
		return nil, 0, err
	}
	if err := checkLimit(&o.Limit); err != nil {
		return nil, 0, err
	}
	filter, err := filterOf(o.Filter)
	if err != nil {
		return nil, 0, err
	}
	found := false
	err = s.view(func(view *kv.View) (err error) {
		if found, err = hasRecord(view, streamKey(stream)); err != nil || !found {
			return err
		}
		list, next, err = pageOf(ctx, view, stream, &o, filter)
		return err
	})
	if err == nil && !found {
		err = noStream(stream)
	}
	return list, next, err
}

// pageOf reads entries some at a time, since a filter may leave out many.
func pageOf(ctx context.Context, view *kv.View, stream string, o *RangeOptions, filter *subject.Filter) (list []Entry, next uint64, err error) {
	at := max(o.From, 1)
	if o.Reverse {
		at = o.To
	}
	for looked, size := 0, 0; ; {
		want := o.Limit - len(list)
		if filter != nil {
			want = plainLimit
		}
		var some []kv.Entry
		if o.Reverse {
			some, err = view.EntriesBack(ctx, stream, beforeOf(at), want)
		} else {
			some, err = view.Entries(ctx, stream, at-1, want)
		}
		if err != nil || len(some) == 0 {
			return list, 0, err
		}
		for _, e := range some {
			if o.Reverse && e.Number < o.From || !o.Reverse && o.To != 0 && e.Number > o.To {
				return list, 0, nil
			}
			if len(list) == o.Limit || size >= MaxBytes || looked == maxLook {
				return list, e.Number, nil
			}
			looked++
			entry, err := entryOf(e)
			if err != nil {
				return nil, 0, err
			}
			if takes(filter, entry.Subject) {
				list, size = append(list, entry), size+entry.size()
			}
			at = e.Number + 1
			if o.Reverse {
				at = e.Number - 1
			}
		}
		if o.Reverse && at == 0 {
			return list, 0, nil
		}
		if len(list) == o.Limit && filter == nil {
			return list, at, nil
		}
	}
}

// beforeOf is what EntriesBack calls the entries up to one: those before the next. 0 is all.
func beforeOf(n uint64) uint64 { return n + min(n, 1) }

// filterOf reads a filter; nil: everything matches.
func filterOf(pattern string) (*subject.Filter, error) {
	if pattern == "" {
		return nil, nil
	}
	f, err := subject.Parse(pattern)
	if err != nil {
		return nil, invalid("filter", "%s", err)
	}
	return &f, nil
}

func checkLimit(limit *int) error {
	if *limit < 0 || *limit > MaxBatch {
		return invalid("limit", "1 to %d at once, and 0 is %d", MaxBatch, plainLimit)
	}
	if *limit == 0 {
		*limit = plainLimit
	}
	return nil
}

// hasRecord reports whether there is a record.
func hasRecord(view *kv.View, key string) (bool, error) {
	_, err := view.Get([]byte(key))
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
