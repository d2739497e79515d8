package mem

import (
	"bytes"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func (v *view) get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if err := engine.CheckColumn(col); err != nil {
		return dst, err
	}
	i, ok := v[col].Get(item{key: key})
	if !ok {
		return dst, engine.ErrNotFound
	}
	return append(dst, i.value...), nil
}

func (v *view) multiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	for i := range lookups {
		if err := engine.CheckColumn(lookups[i].Column); err != nil {
			return buf, err
		}
	}
	size := 0
	for i := range lookups {
		l := &lookups[i]
		found, ok := v[l.Column].Get(item{key: l.Key})
		l.Value, l.Found = found.value, ok
		size += len(found.value)
	}
	if cap(buf)-len(buf) < size {
		buf = append(make([]byte, 0, len(buf)+size), buf...)
	}
	for i := range lookups {
		if l := &lookups[i]; l.Found {
			at := len(buf)
			buf = append(buf, l.Value...)
			l.Value = buf[at:len(buf):len(buf)]
		}
	}
	return buf, nil
}

// apply makes a change, in x too.
func (v *view) apply(op engine.Op, x *index) {
	switch t := v[op.Column]; op.Kind {
	case engine.KindPut:
		t.ReplaceOrInsert(item{op.Key, op.Value})
		x.put(op.Column, item{op.Key, op.Value})
	case engine.KindDelete:
		t.Delete(item{key: op.Key})
		x.remove(op.Column, op.Key)
	case engine.KindDeleteRange:
		for {
			first, found := item{}, false
			t.AscendRange(item{key: op.Key}, item{key: op.Value}, func(i item) bool {
				first, found = i, true
				return false
			})
			if !found {
				return
			}
			t.Delete(first)
			x.remove(op.Column, first.key)
		}
	}
}

// walk calls visit for each entry of r that follows the key after, or all if
// after is nil, in the order of r, until visit returns false.
func (v *view) walk(col column.Column, r engine.Range, after []byte, visit func(item) bool) {
	t := v[col]
	if !r.Reverse {
		from := r.Start
		if after != nil {
			from = after
		}
		t.AscendGreaterOrEqual(item{key: from}, func(i item) bool {
			if r.End != nil && bytes.Compare(i.key, r.End) >= 0 {
				return false
			}
			return (after != nil && bytes.Equal(i.key, after)) || visit(i)
		})
		return
	}
	last := func(i item) bool {
		if bytes.Compare(i.key, r.Start) < 0 {
			return false
		}
		before := r.End
		if after != nil {
			before = after
		}
		return (before != nil && bytes.Compare(i.key, before) >= 0) || visit(i)
	}
	switch {
	case after != nil:
		t.DescendLessOrEqual(item{key: after}, last)
	case r.End != nil:
		t.DescendLessOrEqual(item{key: r.End}, last)
	default:
		t.Descend(last)
	}
}
