package engine

// Range is a run of keys. The zero Range is all keys of a column, in ascending
// order.
type Range struct {
	Start   []byte // the first key; nil: from the first of all
	End     []byte // the first key after the range; nil: to the last of all
	Reverse bool   // from the last key to the first
	Limit   int    // the most keys to visit; 0: all
}

// Prefixed returns the range of the keys that start with prefix. Its Start is
// prefix itself, not a copy.
func Prefixed(prefix []byte) Range {
	return Range{Start: prefix, End: Successor(prefix)}
}

// WithPrefix returns the keys of r that start with prefix, to be visited as those of r.
func (r Range) WithPrefix(prefix []byte) Range {
	p := Prefixed(prefix)
	if string(r.Start) < string(p.Start) {
		r.Start = p.Start
	}
	if r.End == nil || p.End != nil && string(p.End) < string(r.End) {
		r.End = p.End
	}
	return r
}

// Successor returns the first key after all keys that start with prefix: its
// last byte below 0xFF is incremented and the rest cut. It returns nil, which
// is no bound, if prefix is empty or all 0xFF.
func Successor(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xFF {
			end := make([]byte, i+1)
			copy(end, prefix)
			end[i]++
			return end
		}
	}
	return nil
}
