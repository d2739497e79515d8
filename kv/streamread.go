package kv

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Stream returns the head of a stream.
func (v *View) Stream(stream string) (StreamInfo, error) {
	row := Row{Scope: v.scope, Shape: ShapeHead, Kind: KindStream, Key: []byte(stream)}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return StreamInfo{First: 1, rows: 1}, nil
	}
	if err != nil {
		return StreamInfo{}, err
	}
	return parseStreamHead(row, value)
}

// Entries returns the entries of a stream after a number, oldest first, at most
// limit of them, 0 for 100, as many as take pageBytes. Those that are too old
// are left out.
func (v *View) Entries(ctx context.Context, stream string, after uint64, limit int) ([]Entry, error) {
	return v.entries(ctx, stream, after, math.MaxUint64, limit, false)
}

// EntriesBack is Entries of those before a number, newest first; 0: from the last one on.
func (v *View) EntriesBack(ctx context.Context, stream string, before uint64, limit int) ([]Entry, error) {
	if before == 0 {
		before = math.MaxUint64
	}
	return v.entries(ctx, stream, 0, before, limit, true)
}

// entries returns entries after a number and before another.
func (v *View) entries(ctx context.Context, stream string, after, before uint64, limit int, back bool) ([]Entry, error) {
	if limit < 0 || limit > MaxPage {
		return nil, invalid("limit", "a page has 1 to %d entries, and 0 is %d", MaxPage, defaultPage)
	}
	if limit == 0 {
		limit = defaultPage
	}
	info, err := v.Stream(stream)
	after = max(after, info.First-1)
	if err != nil || after >= info.Last || before <= after+1 {
		return nil, err
	}
	r := under(v.scope, ShapeEntry, []byte(stream))
	base := r.Start[:len(r.Start):len(r.Start)]
	r.Start, r.Reverse = appendU64(base, after+1), back
	if before <= info.Last {
		r.End = appendU64(base, before)
	}
	var entries []Entry
	size, now := 0, v.time()
	for row, err := range scanRows(ctx, v.reader, r) {
		if err != nil {
			return nil, err
		}
		e, err := parseEntry(row.raw, row.value)
		if err != nil {
			return nil, err
		}
		if info.tooOld(e, now) {
			if back {
				break
			}
			continue
		}
		e.Number, e.Payload = row.Number, slices.Clone(e.Payload)
		entries = append(entries, e)
		if size += len(e.Payload); len(entries) == limit || size >= pageBytes {
			break
		}
	}
	return entries, nil
}

// FirstEntry returns the number of the first entry that is neither one too many nor too
// old, and one more than that of the last if there is none.
func (v *View) FirstEntry(stream string) (uint64, error) {
	info, err := v.Stream(stream)
	if err != nil || info.Limits.Age == 0 || v.time() < info.due {
		return info.First, err
	}
	return v.EntriesSince(stream, v.Time().Add(time.Millisecond-info.Limits.Age))
}

// EntriesSince returns the number of the first entry that was added at a time or later,
// and one more than that of the last if none was.
func (v *View) EntriesSince(stream string, at time.Time) (uint64, error) {
	info, err := v.Stream(stream)
	if err != nil {
		return 0, err
	}
	n := sort.Search(int(info.Last+1-info.First), func(i int) bool {
		e, entryErr := v.Entry(stream, info.First+uint64(i))
		err = errors.Join(err, unless(entryErr, ErrTrimmed)) // what is gone meanwhile was before
		return entryErr == nil && !e.Time.Before(at)
	})
	return info.First + uint64(n), err
}

// Entry returns an entry of a stream, whether it is too old or not. It returns ErrTrimmed
// if it is no longer there, or not yet.
func (v *View) Entry(stream string, n uint64) (Entry, error) {
	row := Row{Scope: v.scope, Shape: ShapeEntry, Name: []byte(stream), Number: n}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return Entry{}, &Error{Code: CodeTrimmed, Field: "entry", Have: n, Reason: "there is no such entry, or it is no longer kept"}
	}
	if err != nil {
		return Entry{}, err
	}
	e, err := parseEntry(row, value)
	e.Number = n
	return e, err
}

// Entries returns entries of a stream as it is now; see [View.Entries].
func (s *Space) Entries(ctx context.Context, stream string, after uint64, limit int) ([]Entry, error) {
	return s.now().Entries(ctx, stream, after, limit)
}

// Follow yields the entries of a stream after a number, and then those to come,
// until ctx ends, the store is closed or the space is dropped, whose errors are
// the last thing it yields. It yields ErrTrimmed, and ends, if an entry that it
// has not yielded is no longer kept.
func (s *Space) Follow(ctx context.Context, stream string, after uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := watcher{space: s, ctx: ctx, topic: s.store.notifier.subscribe(s.scope)}
		defer s.store.notifier.leave(w.topic)
		for {
			turn := w.topic.next()
			entries, err := s.Entries(ctx, stream, after, watchPage)
			if err == nil && len(entries) > 0 && entries[0].Number != after+1 {
				err = trimmed(after+1, entries[0].Number)
			}
			for i := 0; i < len(entries) && err == nil; i++ {
				if !yield(entries[i], nil) {
					return
				}
				after = entries[i].Number
			}
			if err == nil && len(entries) == 0 {
				err = w.waitUntil(turn, time.Time{})
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
		}
	}
}
