package engine

import (
	"bytes"
	"slices"

	"github.com/stoadb/stoa/column"
)

const (
	// gatherBeside is how many rows Gather goes through for each that it looks up, before it
	// looks up the rest one by one: a lookup costs as much as some fifteen rows that follow
	// each other.
	gatherBeside = 8
	// gatherChunk is how many bytes of values Gather takes from the heap at once.
	gatherChunk = 256 << 10
)

// Gather is [Reader.MultiGet] of rows of one column of which many lie beside each other: it
// goes through those between the first and the last, unless they are many more than the ones
// that are looked up. The order of lookups does not matter, and is kept. Values stay what they are, and
// belong to the caller. Rows that are changed meanwhile may be of different states.
func Gather(r Reader, col column.Column, lookups []Lookup) error {
	order := make([]int, len(lookups))
	for i := range order {
		order[i] = i
		lookups[i].Value, lookups[i].Found = nil, false
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(lookups[a].Key, lookups[b].Key) })
	if len(order) == 0 {
		return nil
	}
	end := append(slices.Clone(lookups[order[len(order)-1]].Key), 0)
	it, err := r.Iterate(col, Range{Start: lookups[order[0]].Key, End: end})
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }() // what it has to say, Err has said
	var chunk []byte
	for left := gatherBeside * (len(order) + 1); len(order) > 0 && it.Next(); left-- {
		if left == 0 {
			return gatherRest(r, lookups, order)
		}
		for len(order) > 0 && bytes.Compare(lookups[order[0]].Key, it.Key()) < 0 {
			order = order[1:] // it is not there
		}
		for len(order) > 0 && bytes.Equal(lookups[order[0]].Key, it.Key()) {
			if cap(chunk)-len(chunk) < len(it.Value()) {
				chunk = make([]byte, 0, max(gatherChunk, len(it.Value())))
			}
			at := len(chunk)
			chunk = append(chunk, it.Value()...)
			found := &lookups[order[0]]
			found.Value, found.Found = chunk[at:len(chunk):len(chunk)], true
			order = order[1:]
		}
	}
	return it.Err()
}

// gatherRest looks up those of lookups that order has.
func gatherRest(r Reader, lookups []Lookup, order []int) error {
	for some := range slices.Chunk(order, 256) {
		rest := make([]Lookup, len(some))
		for i, at := range some {
			rest[i] = lookups[at]
		}
		if _, err := r.MultiGet(nil, rest); err != nil {
			return err
		}
		for i, at := range some {
			lookups[at] = rest[i]
		}
	}
	return nil
}
