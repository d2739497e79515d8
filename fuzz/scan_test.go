package fuzz

import (
	"fmt"
	"strings"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// scan reads a range to its end.
func (r *run) scan(from engine.Reader, col column.Column, rg engine.Range) {
	it, err := from.Iterate(col, rg)
	if err != nil {
		r.log("scan", err)
		return
	}
	what := &strings.Builder{}
	fmt.Fprintf(what, "scan %s", col)
	for it.Next() {
		fmt.Fprintf(what, " %x=%s", it.Key(), show(it.Value()))
	}
	r.log(what.String(), it.Err())
	r.log("close iterator", it.Close())
}

// page reads a range in pages of a drawn shape. How many entries a page has is
// for the store to say; what they are is not.
func (r *run) page() {
	from := r.source()
	col, rg := r.in.bounds()
	entries, size := 1+r.in.below(40), 1+r.in.below(256)*16
	it, err := from.Iterate(col, rg)
	if err != nil {
		r.log("page", err)
		return
	}
	what := &strings.Builder{}
	fmt.Fprintf(what, "page %s", col)
	for {
		page := it.Page(nil, entries, size)
		if len(page) == 0 {
			break
		}
		n := 0
		for len(page) > 0 {
			key, value, rest, ok := engine.CutEntry(page)
			if !ok {
				r.Fatalf("%s: a page does not parse: %x", r.name, page)
			}
			fmt.Fprintf(what, " %x=%s", key, show(value))
			page = rest
			n++
		}
		if n > entries || n != it.PageEntries() {
			r.Fatalf("%s: a page of %d entries, at most %d, said to be %d", r.name, n, entries, it.PageEntries())
		}
	}
	r.log(what.String(), it.Err())
	r.log("close iterator", it.Close())
}

// snapshot takes one, or gives the oldest back.
func (r *run) snapshot() {
	if give := r.in.below(3) == 0; give || len(r.snapshots) == maxOpen {
		if len(r.snapshots) > 0 {
			r.closeIterators() // how far those over the snapshot have read ahead differs
			r.log("close snapshot", r.snapshots[0].Close())
			r.snapshots = r.snapshots[1:]
		}
		return
	}
	s, err := r.db.Snapshot()
	r.log("snapshot", err)
	r.snapshots = append(r.snapshots, s)
}

// iterate opens an iterator, which later steps advance.
func (r *run) iterate() {
	from := r.source()
	col, rg := r.in.bounds()
	if len(r.iterators) == maxOpen {
		return
	}
	it, err := from.Iterate(col, rg)
	r.log("iterate", err)
	if err == nil {
		r.iterators = append(r.iterators, it)
	}
}

func (r *run) advance() {
	i, steps := r.in.below(maxOpen), 1+r.in.below(6)
	if i >= len(r.iterators) {
		return
	}
	it := r.iterators[i]
	for range steps {
		if !it.Next() {
			r.log("end of iterator", it.Err())
			return
		}
		r.log(fmt.Sprintf("next %x=%s", it.Key(), show(it.Value())), nil)
	}
}

func (r *run) closeIterators() {
	for _, it := range r.iterators {
		r.log("close iterator", it.Close())
	}
	r.iterators = nil
}

// release gives everything back that is open.
func (r *run) release() {
	r.closeIterators()
	for _, s := range r.snapshots {
		r.log("close snapshot", s.Close())
	}
	r.snapshots = nil
}
