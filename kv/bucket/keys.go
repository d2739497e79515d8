package bucket

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/subject"
)

// The indexes of a bucket: of keys of several tokens by the last of them, and of all keys.
const (
	indexLast uint16 = 1
	indexKeys uint16 = 2
)

func lastToken(key, _ []byte) [][]byte {
	if at := bytes.LastIndexByte(key, '.'); at >= 0 {
		return [][]byte{bytes.Clone(key[at+1:])}
	}
	return nil
}

// Keys yields the keys that have a value and match one of the filters, in order of their bytes
// (but those of a filter that only names the last token: in order within a page), as they are when it begins; no
// filter: all. It reads no more of them at a time than a page. It returns ErrInvalidArgument for what is no filter.
func (b *Bucket) Keys(ctx context.Context, filters ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for r, err := range b.find(ctx, filters) {
			if err == nil && isMarker(r.Form) {
				continue
			}
			if !yield(string(r.Key), b.told(err, "")) || err != nil {
				return
			}
		}
	}
}

// find yields the newest records of the keys that match, markers too. Their bytes are valid
// until the next.
func (b *Bucket) find(ctx context.Context, filters []string) iter.Seq2[kv.Record, error] {
	return func(yield func(kv.Record, error) bool) {
		set, err := parse(filters)
		if err != nil {
			yield(kv.Record{}, err)
			return
		}
		view, err := b.space.View()
		if err != nil {
			yield(kv.Record{}, err)
			return
		}
		defer func() { _ = view.Close() }()
		if _, err := view.Stats(); err != nil { // it may have been dropped
			yield(kv.Record{}, err)
			return
		}
		for r, err := range matching(ctx, view, set) {
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// matched is filters, and how the keys that match one of them are found.
type matched struct {
	set  *subject.Set
	last string // they have this last token, and nothing is known of what they begin with
}

// parse reads filters; none is all keys.
func parse(filters []string) (matched, error) {
	if len(filters) == 0 {
		filters = []string{">"}
	}
	if len(filters) > subject.MaxFilters {
		e := invalid("filters", "there are %d filters, and at most %d", len(filters), subject.MaxFilters)
		e.Limit, e.Have = subject.MaxFilters, uint64(len(filters))
		return matched{}, e
	}
	list := make([]subject.Filter, len(filters))
	for i, text := range filters {
		f, err := subject.Parse(text)
		if err != nil {
			return matched{}, err
		}
		list[i] = f
	}
	set, err := subject.NewSet(list...)
	m := matched{set: set}
	if p := list[0].Plan(); len(list) == 1 && p.Last != "" && p.End == nil && strings.Contains(filters[0], ".") {
		m.last = p.Last
	}
	return m, err
}

// matching yields the newest records of a view whose keys match. Their bytes are valid until
// the next.
func matching(ctx context.Context, view *kv.View, m matched) iter.Seq2[kv.Record, error] {
	if m.last != "" {
		return byLast(ctx, view, m)
	}
	return func(yield func(kv.Record, error) bool) {
		for _, at := range m.set.Ranges() {
			if bytes.Equal(at.End, append(bytes.Clone(at.Start), 0)) { // one key
				if r, err := view.Get(at.Start); !errors.Is(err, kv.ErrNotFound) && !yield(r, err) || err != nil && !errors.Is(err, kv.ErrNotFound) {
					return
				}
				continue
			}
			for r, err := range view.Lent(ctx, at.Start) {
				if err == nil && !m.set.Match(r.Key) {
					continue
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// byLast is matching by the index of last tokens.
func byLast(ctx context.Context, view *kv.View, m matched) iter.Seq2[kv.Record, error] {
	return func(yield func(kv.Record, error) bool) {
		term := []byte(m.last)
		o := kv.IndexOptions{From: term, To: append(bytes.Clone(term), 0), Limit: kv.MaxPage}
		for {
			found, next, err := view.ByIndex(ctx, indexLast, o)
			for _, f := range found {
				if m.set.Match(f.Key) && !yield(f.Record, nil) {
					return
				}
			}
			if err != nil {
				yield(kv.Record{}, err)
			}
			if o.Cursor = next; next == "" || err != nil {
				return
			}
		}
	}
}
