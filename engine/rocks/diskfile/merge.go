package diskfile

import (
	"bytes"
	"cmp"
	"container/heap"
	"maps"
	"slices"
)

// Run is changes in the order of their keys, the newest of a key first: those of a table,
// or of logs.
type Run interface {
	// Ready reports whether there is one more, after reading what has to be read for it.
	Ready() bool
	// Head returns the next one. It is valid until the call of Ready after Pass.
	Head() *Change
	// Pass goes behind the next one.
	Pass()
}

// Merge is the rows that runs make together: the newest change of each key, where that puts
// it and no deletion of a range that is newer covers it. It is not safe for concurrent use.
type Merge struct {
	runs    []Run    // a heap, by the change that comes next
	deletes []Change // those that begin behind the last key, in order
	active  []Change // those that the last key may be in
	last    []byte
	any     bool
}

// NewMerge returns the rows of runs, of which deletes are the deletions of ranges.
func NewMerge(runs []Run, deletes []Change) *Merge {
	m := &Merge{deletes: slices.Clone(deletes)}
	slices.SortFunc(m.deletes, func(a, b Change) int { return bytes.Compare(a.Key, b.Key) })
	for _, r := range runs {
		if r.Ready() {
			m.runs = append(m.runs, r)
		}
	}
	heap.Init((*mergeHeap)(m))
	return m
}

// Next returns the next row. It is valid until the call after.
func (m *Merge) Next() (c Change, ok bool) {
	for len(m.runs) > 0 {
		r := m.runs[0]
		if m.any { // it was returned or passed over, and is not needed any more
			r.Pass()
			if r.Ready() {
				heap.Fix((*mergeHeap)(m), 0)
			} else {
				heap.Pop((*mergeHeap)(m))
			}
		}
		if m.any = true; len(m.runs) == 0 {
			break
		}
		c := *m.runs[0].Head()
		if m.last != nil && bytes.Equal(c.Key, m.last) {
			continue // an older one
		}
		m.last = append(m.last[:0], c.Key...)
		if m.last == nil {
			m.last = []byte{}
		}
		if c.Kind == Put && !m.deleted(&c) {
			return c, true
		}
	}
	return c, false
}

// deleted reports whether a deletion of a range covers c, which is not before what it was
// asked for last.
func (m *Merge) deleted(c *Change) bool {
	for len(m.deletes) > 0 && bytes.Compare(m.deletes[0].Key, c.Key) <= 0 {
		m.active, m.deletes = append(m.active, m.deletes[0]), m.deletes[1:]
	}
	m.active = slices.DeleteFunc(m.active, func(d Change) bool { return bytes.Compare(d.Value, c.Key) <= 0 })
	return slices.ContainsFunc(m.active, func(d Change) bool { return d.Sequence > c.Sequence })
}

// mergeHeap is the runs of a Merge as a heap.
type mergeHeap Merge

func (h *mergeHeap) Len() int { return len(h.runs) }

func (h *mergeHeap) Less(i, j int) bool {
	a, b := h.runs[i].Head(), h.runs[j].Head()
	return cmp.Or(bytes.Compare(a.Key, b.Key), cmp.Compare(b.Sequence, a.Sequence)) < 0
}

func (h *mergeHeap) Swap(i, j int) { h.runs[i], h.runs[j] = h.runs[j], h.runs[i] }

func (h *mergeHeap) Push(x any) { h.runs = append(h.runs, x.(Run)) }

func (h *mergeHeap) Pop() any {
	last := h.runs[len(h.runs)-1]
	h.runs = h.runs[:len(h.runs)-1]
	return last
}

// Logged is the changes of logs to one column family. The zero Logged has none. It keeps the
// newest of each key, so that it is as large as what was written, and not as the logs.
type Logged struct {
	Deletes []Change // of ranges
	newest  map[string]Change
}

// Add adds a copy of a change.
func (l *Logged) Add(c Change) {
	c.Key, c.Value = bytes.Clone(c.Key), bytes.Clone(c.Value)
	if c.Kind == DeleteRange {
		l.Deletes = append(l.Deletes, c)
		return
	}
	if was, ok := l.newest[string(c.Key)]; ok && was.Sequence > c.Sequence {
		return
	}
	if l.newest == nil {
		l.newest = map[string]Change{}
	}
	l.newest[string(c.Key)] = c
}

// Run returns the newest of each key.
func (l *Logged) Run() Run {
	r := &sliceRun{}
	for _, k := range slices.Sorted(maps.Keys(l.newest)) {
		r.changes = append(r.changes, l.newest[k])
	}
	return r
}

// sliceRun is a run that is held whole.
type sliceRun struct{ changes []Change }

func (r *sliceRun) Ready() bool   { return len(r.changes) > 0 }
func (r *sliceRun) Head() *Change { return &r.changes[0] }
func (r *sliceRun) Pass()         { r.changes = r.changes[1:] }
