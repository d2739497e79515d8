package inspect

import (
	"bytes"
	"context"
	"errors"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Difference is a row that two stores do not have alike.
type Difference struct {
	Record
	In string  `json:"in"`              // "a", "b", or "both", with another value
	A  *Record `json:"a_row,omitempty"` // of both
}

// Comparison is how two stores differ.
type Comparison struct {
	Equal   bool         `json:"equal"`
	Columns []ColumnDiff `json:"columns"` // those that differ
	// Findings are what of A or B could not be read, and therefore not compared.
	Findings []Finding `json:"findings,omitempty"`
}

// ColumnDiff counts how a column differs.
type ColumnDiff struct {
	Column  string `json:"column"`
	OnlyA   uint64 `json:"only_a"`
	OnlyB   uint64 `json:"only_b"`
	Changed uint64 `json:"changed"` // in both, with other values
}

// Diff reads a and b side by side, and calls visit with every row that they do
// not have alike, in the order of columns and keys. Secrets are compared and
// redacted. It goes on behind what cannot be read. progress is told of the rows of
// both.
func Diff(ctx context.Context, a, b *Source, visit func(Difference) error, progress func(rows uint64)) (*Comparison, error) {
	out := &Comparison{Columns: []ColumnDiff{}}
	d := &differ{walker: &walker{ctx: ctx, progress: progress}, visit: visit, out: out, left: a.Printer(false), right: b.Printer(false)}
	for c := range column.All {
		d.col, d.count = c, ColumnDiff{Column: c.String()}
		if err := d.column(a, b); err != nil {
			return nil, err
		}
		if n := d.count; n.OnlyA+n.OnlyB+n.Changed > 0 {
			out.Columns = append(out.Columns, n)
		}
	}
	out.Equal = len(out.Columns) == 0 && len(out.Findings) == 0
	return out, d.report()
}

// differ is a comparison of a column under way.
type differ struct {
	*walker
	visit func(Difference) error
	out   *Comparison
	col   column.Column
	count ColumnDiff

	left, right *Printer
}

func (d *differ) column(a, b *Source) (err error) {
	left, err := d.begin(a, "A")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, left.close()) }()
	right, err := d.begin(b, "B")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, right.close()) }()
	for !left.done || !right.done {
		order := 0
		switch {
		case right.done:
			order = -1
		case left.done:
			order = 1
		default:
			order = bytes.Compare(left.it.Key(), right.it.Key())
		}
		if err := d.pair(order, left.it, right.it); err != nil {
			return err
		}
		if order <= 0 {
			err = left.next()
		}
		if err == nil && order >= 0 {
			err = right.next()
		}
		if err == nil {
			err = d.pass()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin returns a cursor at the first row of the column of s, which is called name.
func (d *differ) begin(s *Source, name string) (*cursor, error) {
	found := func(f Finding) {
		f.Reason = "in " + name + ": " + f.Reason
		d.out.Findings = append(d.out.Findings, f)
	}
	c, err := s.cursor(d.col, func(after, before []byte, err error) {
		found(NewFinding("unreadable", d.col, after, gap(after, before, err)))
	})
	if err == nil {
		return c, c.next()
	}
	f, ok := tolerated(d.col, err)
	if !ok {
		return nil, err
	}
	found(f)
	return &cursor{done: true}, nil
}

// pair reports the rows that two iterators are at: that of the lower key, or
// both.
func (d *differ) pair(order int, left, right *engine.Iterator) error {
	switch {
	case order < 0:
		d.count.OnlyA++
		return d.visit(Difference{Record: d.left.Record(d.col, left.Key(), left.Value()), In: "a"})
	case order > 0:
		d.count.OnlyB++
		return d.visit(Difference{Record: d.right.Record(d.col, right.Key(), right.Value()), In: "b"})
	case bytes.Equal(left.Value(), right.Value()):
		return nil
	}
	d.count.Changed++
	was := d.left.Record(d.col, left.Key(), left.Value())
	return d.visit(Difference{Record: d.right.Record(d.col, right.Key(), right.Value()), In: "both", A: &was})
}
