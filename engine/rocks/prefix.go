package rocks

import (
	"bytes"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// inOnePrefix reports whether the keys of r, and the key from which RocksDB looks
// for the first of them, share one prefix of the column's filter. Only then may
// the filter be asked: it would hide keys of any other prefix.
func inOnePrefix(col column.Column, r engine.Range) bool {
	n := col.Spec().PrefixBytes
	if n == 0 || len(r.Start) < n || r.End == nil {
		return false
	}
	prefix := r.Start[:n]
	if r.Reverse { // starts at End
		return bytes.HasPrefix(r.End, prefix)
	}
	after := engine.Successor(prefix)
	return after == nil || bytes.Compare(r.End, after) <= 0
}

// empty reports whether no key can be in r.
func empty(r engine.Range) bool { return r.End != nil && bytes.Compare(r.Start, r.End) >= 0 }
