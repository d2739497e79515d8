package stream

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Info is what is known of a stream.
type Info struct {
	Name      string
	Created   time.Time
	Limits    kv.StreamLimits
	Entries   uint64 // that are kept
	First     uint64 // the first that is kept; Last+1 if none is
	Last      uint64 // the last that was added, whether it is kept or not
	Newest    time.Time
	Consumers int
}

// Create makes a stream that keeps entries within limits, and says whether there was none. One
// that is there with the same limits stays as it is. It returns ErrExists for one with
// others, and ErrTooMany for more than MaxStreams.
func (s *Streams) Create(ctx context.Context, d engine.Durability, stream string, limits kv.StreamLimits) (made bool, err error) {
	if err := CheckLimits(stream, limits); err != nil {
		return false, err
	}
	err = s.update(ctx, d, func(tx *kv.Tx) error {
		made = false
		err := needStream(tx, stream)
		if err == nil {
			head, err := tx.Stream(stream)
			if err == nil && head.Limits != limits {
				return refuse(CodeExists, "stream", "the stream %q is there with other limits: update them", stream)
			}
			return err
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		if err := fewer(tx, streamPrefix, MaxStreams, "stream", "the tenant has %d streams, as many as it may: delete one", MaxStreams); err != nil {
			return err
		}
		made = true
		if _, err := tx.Put([]byte(streamKey(stream)), []byte{version}, kv.PutOptions{}); err != nil {
			return err
		}
		_, err = tx.LimitStream(stream, limits)
		return err
	})
	return made && err == nil, err
}

// CheckLimits returns ErrInvalidArgument for a name that no stream has, and for limits that none has.
func CheckLimits(stream string, l kv.StreamLimits) error {
	if err := checkName("stream", stream); err != nil {
		return err
	}
	if l.Age < 0 || l.Age%time.Millisecond != 0 {
		return invalid("age", "entries are kept for a whole number of milliseconds, and 0 is for ever")
	}
	return nil
}

// fewer returns ErrTooMany unless fewer records than a limit have keys with a prefix.
func fewer(tx *kv.Tx, prefix string, limit int, field, format string, args ...any) error {
	found, _, err := tx.ByTerm(indexKey, []byte(prefix), engine.Successor([]byte(prefix)), limit)
	if err == nil && len(found) >= limit {
		return beyond(CodeTooMany, field, limit, len(found), format, args...)
	}
	return err
}

// Limit has a stream keep entries within other limits, from now on: what is beyond them is
// trimmed at once. It returns ErrNotFound if there is no such stream.
func (s *Streams) Limit(ctx context.Context, d engine.Durability, stream string, limits kv.StreamLimits) error {
	if err := CheckLimits(stream, limits); err != nil {
		return err
	}
	return s.update(ctx, d, func(tx *kv.Tx) error {
		if err := needStream(tx, stream); err != nil {
			return err
		}
		_, err := tx.LimitStream(stream, limits)
		return err
	})
}

// Info returns what is known of a stream, or ErrNotFound.
func (s *Streams) Info(ctx context.Context, stream string) (info Info, err error) {
	if err := checkName("stream", stream); err != nil {
		return info, err
	}
	found := false
	err = s.view(func(view *kv.View) error {
		r, err := view.Get([]byte(streamKey(stream)))
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		info, err = infoOf(ctx, view, r)
		return err
	})
	if err == nil && !found {
		err = noStream(stream)
	}
	return info, err
}

// List returns what is known of all streams, in order of their names.
func (s *Streams) List(ctx context.Context) (list []Info, err error) {
	err = s.view(func(view *kv.View) error {
		for r, err := range view.All(ctx, []byte(streamPrefix)) {
			if err != nil {
				return err
			}
			info, err := infoOf(ctx, view, r)
			if err != nil {
				return err
			}
			list = append(list, info)
		}
		return nil
	})
	return list, err
}

func infoOf(ctx context.Context, view *kv.View, r kv.Record) (Info, error) {
	info := Info{Name: strings.TrimPrefix(string(r.Key), streamPrefix), Created: r.Written}
	head, err := view.Stream(info.Name)
	if err != nil {
		return info, err
	}
	info.Limits, info.Last, info.Newest = head.Limits, head.Last, head.Newest
	if info.First, err = view.FirstEntry(info.Name); err != nil {
		return info, err
	}
	info.Entries = info.Last + 1 - info.First
	consumers, err := view.Groups(ctx, info.Name)
	info.Consumers = len(consumers)
	return info, err
}

// Delete removes a stream with its entries and consumers, and says whether there was one. Where
// it is interrupted the stream is still there, with fewer consumers: delete it again.
func (s *Streams) Delete(ctx context.Context, d engine.Durability, stream string) (existed bool, err error) {
	if err := checkName("stream", stream); err != nil {
		return false, err
	}
	for {
		// Each in batches of its own, since their dead letters may be many.
		consumers, err := s.ListConsumers(ctx, stream)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for i := range consumers {
			if _, err := s.DeleteConsumer(ctx, d, stream, consumers[i].Name); err != nil {
				return false, err
			}
		}
		done := false
		err = s.update(ctx, d, func(tx *kv.Tx) error {
			existed, done = false, false
			of := []byte(consumersOf(stream))
			others, _, err := tx.ByTerm(indexKey, of, engine.Successor(of), 1)
			if err != nil || len(others) > 0 {
				return err // somebody has made one meanwhile
			}
			done = true
			_, err = tx.Delete([]byte(streamKey(stream)))
			if errors.Is(err, kv.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			existed = true
			return tx.DeleteStream(stream)
		})
		if done || err != nil {
			return existed && err == nil, err
		}
	}
}
