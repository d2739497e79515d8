package bucket

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/stoadb/stoa/kv"
)

// window is how many revisions are put in order at a time, so that the beginning of a watch takes
// bounded memory: a bucket that has more is gone through once for each window.
const window = 1 << 16

// place is where a revision is.
type place struct {
	revision uint64
	key      []byte
	older    bool // it is a row of history
}

// places are those with the smallest revisions, of which the greatest comes first.
type places []place

// Len is that of a heap, and so are the other methods.
func (p places) Len() int           { return len(p) }
func (p places) Less(i, j int) bool { return p[i].revision > p[j].revision }
func (p places) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// Push adds a place.
func (p *places) Push(x any) { *p = append(*p, x.(place)) }

// Pop removes the last place.
func (p *places) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	*p = (*p)[:last]
	return x
}

// state tells what there is, in order of the revisions, and returns the revision of the bucket
// then.
func (w *watch) state(ctx context.Context) (uint64, error) {
	view, err := w.b.space.View()
	if err != nil {
		return 0, err
	}
	defer func() { _ = view.Close() }()
	stats, err := view.Stats()
	if err != nil {
		return 0, err
	}
	for after, more := uint64(0), true; more && !w.stopped; {
		var list places
		if list, more, err = w.next(ctx, view, after); err != nil {
			return 0, err
		}
		for _, p := range list {
			r, err := w.read(view, &p)
			if err != nil {
				return 0, err
			}
			if w.tell(r); w.stopped {
				return 0, nil
			}
			after = p.revision
		}
	}
	w.emit(Event{Kind: EventInitDone, Revision: stats.Revision})
	return stats.Revision, nil
}

// next returns the revisions that are to be told after one, the smallest, in order, and whether
// there may be more.
func (w *watch) next(ctx context.Context, view *kv.View, after uint64) (list places, more bool, err error) {
	take := func(key []byte, revision uint64, older bool) {
		switch {
		case revision <= after:
		case len(list) < window:
			heap.Push(&list, place{revision, bytes.Clone(key), older})
		case revision < list[0].revision:
			list[0] = place{revision, append(list[0].key[:0], key...), older}
			heap.Fix(&list, 0)
			more = true
		default:
			more = true
		}
	}
	for r, err := range matching(ctx, view, w.filters) {
		if err != nil {
			return nil, false, err
		}
		take(r.Key, r.Revision, false)
	}
	if w.o.History {
		for p, err := range view.Older(ctx) {
			if err != nil {
				return nil, false, err
			}
			if w.filters.set.Match(p.Key) {
				take(p.Key, p.Revision, true)
			}
		}
	}
	slices.SortFunc(list, func(a, b place) int { return cmp.Compare(a.revision, b.revision) })
	return list, more, nil
}

// read returns the record that is at a place.
func (w *watch) read(view *kv.View, p *place) (kv.Record, error) {
	if p.older {
		return view.AtRevision(p.key, p.revision)
	}
	return view.Get(p.key)
}
