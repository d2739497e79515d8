package inspect

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

// SurveyOptions say what Survey looks at. The zero SurveyOptions look at
// everything but contexts.
type SurveyOptions struct {
	// Contexts is how many contexts to list, the largest first. 0: none.
	Contexts int
	// Progress is told of every few thousand rows, how many more; nil: nobody.
	Progress func(rows uint64)
}

// Overview is what a store holds.
type Overview struct {
	Store        Facts           `json:"store"`
	Columns      []ColumnReport  `json:"columns"`
	Contexts     []ContextReport `json:"contexts,omitempty"` // the largest
	ContextCount uint64          `json:"context_count"`
	Findings     []Finding       `json:"findings,omitempty"` // what could not be read
}

// ColumnReport is what a column holds.
type ColumnReport struct {
	Column string `json:"column"`
	Tally
	Parts       []Part       `json:"parts,omitempty"` // where a column holds several things
	Unaccounted *Unaccounted `json:"unaccounted,omitempty"`
}

// Part is the rows of one key type of Blobs or Group, or of one scope of
// Generic.
type Part struct {
	Name   string `json:"name"`
	Prefix string `json:"prefix,omitempty"` // the leading bytes of the keys, in hex
	Space  string `json:"space,omitempty"`  // of a scope of key-values: its tenant, and its name or collection
	Tally
}

// Unaccounted are rows whose keys belong to nothing that the schema knows.
type Unaccounted struct {
	Tally
	Examples []Finding `json:"examples"`
}

// ContextReport is what a context holds, over the columns whose keys begin with
// a context.
type ContextReport struct {
	Context string `json:"context_id"`
	Tally
	Columns []Part `json:"columns"` // those with rows
}

// Survey reads every row of s and returns what there is. Damage is among the
// findings, and no error; secrets that the daemon does not show are too.
func Survey(ctx context.Context, s *Source, o SurveyOptions) (*Overview, error) {
	w := &walker{ctx: ctx, progress: o.Progress}
	v := &surveyor{walker: w, source: s, keep: o.Contexts, out: &Overview{Store: s.Facts}}
	for c := range column.All {
		v.counts[c] = newCounter(c)
	}
	if err := v.contexts(); err != nil {
		return nil, err
	}
	for c := range column.All {
		if ofContexts(c) {
			continue
		}
		count := v.counts[c]
		err := w.walkAround(s, c, func(key, value []byte) error {
			count.add(key, value)
			return nil
		}, func(after, before []byte, err error) { v.lost(c, after, before, err) })
		if err := v.tolerate(c, err); err != nil {
			return nil, err
		}
	}
	for c := range column.All {
		r := v.counts[c].report()
		if err := v.named(r.Parts); err != nil {
			return nil, err
		}
		v.out.Columns = append(v.out.Columns, r)
	}
	v.out.Contexts = v.largest.sorted()
	return v.out, w.report()
}

// named says of the scopes of key-values which spaces they are, as far as that is known.
func (v *surveyor) named(parts []Part) error {
	names := v.source.spaces()
	for i := range parts {
		b, err := hex.DecodeString(parts[i].Prefix)
		if err != nil || len(b) != len(keys.Scope{}) {
			continue
		}
		in, err := names.of(keys.Scope(b))
		if err != nil {
			return err
		}
		if in != nil {
			parts[i].Space = in.String()
		}
	}
	return nil
}

// surveyor is a survey under way.
type surveyor struct {
	*walker
	source  *Source
	keep    int
	out     *Overview
	counts  [column.Count + 1]*counter
	largest largest
}

func (v *surveyor) lost(c column.Column, after, before []byte, err error) {
	v.out.Findings = append(v.out.Findings, NewFinding("unreadable", c, after, gap(after, before, err)))
}

// tolerate makes findings of errors that concern one column only.
func (v *surveyor) tolerate(c column.Column, err error) error {
	f, ok := tolerated(c, err)
	if errors.Is(err, rpc.ErrSecret) {
		f, ok = NewFinding("secret", c, nil, "the daemon does not show its secrets to this user"), true
	}
	if !ok {
		return err
	}
	v.out.Findings = append(v.out.Findings, f)
	return nil
}

// ofContexts reports whether the keys of c begin with a context.
func ofContexts(c column.Column) bool {
	switch c {
	case column.Meta, column.Config, column.Identity, column.State, column.PrivateState, column.Delta:
		return true
	}
	return false
}

// contextBytes is the length of a context id.
const contextBytes = 32

// contexts reads the columns of contexts side by side, context by context, so
// that their number costs no memory.
func (v *surveyor) contexts() error {
	var heads []*cursor
	defer func() {
		for _, h := range heads {
			_ = h.close() // it has said what it had to say
		}
	}()
	for c := range column.All {
		if !ofContexts(c) {
			continue
		}
		h, err := v.source.cursor(c, func(after, before []byte, err error) { v.lost(c, after, before, err) })
		if err := v.tolerate(c, err); err != nil {
			return err
		}
		if err == nil {
			heads = append(heads, h)
			if err := v.next(h); err != nil {
				return err
			}
		}
	}
	for {
		id, ok := lowest(heads)
		if !ok {
			return nil
		}
		if err := v.oneContext(id, heads); err != nil {
			return err
		}
	}
}

// next moves h to its next row. A row too short for a context is counted and
// passed over.
func (v *surveyor) next(h *cursor) error {
	for {
		if err := h.next(); err != nil || h.done {
			return v.tolerate(h.col, err)
		}
		if err := v.pass(); err != nil {
			return err
		}
		if len(h.last) >= contextBytes {
			return nil
		}
		v.counts[h.col].add(h.it.Key(), h.it.Value())
	}
}

func lowest(heads []*cursor) (id [contextBytes]byte, ok bool) {
	for _, h := range heads {
		if h.done {
			continue
		}
		if at := [contextBytes]byte(h.it.Key()); !ok || string(at[:]) < string(id[:]) {
			id, ok = at, true
		}
	}
	return id, ok
}

// oneContext counts the rows of a context, which come next in their columns.
func (v *surveyor) oneContext(id [contextBytes]byte, heads []*cursor) error {
	r := ContextReport{}
	for _, h := range heads {
		part := Part{Name: h.col.String()}
		for !h.done && string(h.it.Key()[:contextBytes]) == string(id[:]) {
			part.Add(h.it.Key(), h.it.Value())
			v.counts[h.col].add(h.it.Key(), h.it.Value())
			if err := v.next(h); err != nil {
				return err
			}
		}
		if part.Rows > 0 && v.keep > 0 {
			r.Merge(part.Tally)
			r.Columns = append(r.Columns, part)
		}
	}
	v.out.ContextCount++
	if v.keep > 0 {
		r.Context = fmt.Sprintf("%x", id)
		v.largest.add(r, v.keep)
	}
	return nil
}
