package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// stride is how many rows pass between two looks at the context, and two reports
// of progress.
const stride = 4096

// walker visits rows, and counts them for whoever waits. It is not safe for
// concurrent use.
type walker struct {
	ctx      context.Context
	progress func(rows uint64) // of rows more; nil: nobody waits
	since    uint64
}

// pass counts a row. It returns the error of a context that is done.
func (w *walker) pass() error {
	if w.since++; w.since < stride {
		return nil
	}
	return w.report()
}

func (w *walker) report() error {
	if w.progress != nil {
		w.progress(w.since)
	}
	w.since = 0
	return w.ctx.Err()
}

// each calls visit with the rows of col in rg. Key and value are valid until it
// returns. It ends with an error of the store, of the context or of visit.
func (w *walker) each(r engine.Reader, col column.Column, rg engine.Range, visit func(key, value []byte) error) (err error) {
	it, err := r.Iterate(col, rg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for it.Next() {
		if err := visit(it.Key(), it.Value()); err != nil {
			return err
		}
		if err := w.pass(); err != nil {
			return err
		}
	}
	return it.Err()
}

// MostGaps is how many places of a column that cannot be read are gone around.
const MostGaps = 10_000

// walkAround is each, but goes on behind what cannot be read: it calls lost with the
// keys between which rows may be missing, and the error. Before is nil at the end of
// the column.
func (w *walker) walkAround(s *Source, col column.Column, visit func(key, value []byte) error, lost func(after, before []byte, err error)) error {
	var start, last []byte
	for range MostGaps {
		err := w.each(s, col, engine.Range{Start: start}, func(key, value []byte) error {
			last = append(last[:0], key...)
			return visit(key, value)
		})
		if !isDamage(err) {
			return err
		}
		next, failed := past(s, col, last)
		lost(last, next, err)
		if failed != nil || next == nil {
			return failed
		}
		start, last = next, append(last[:0], next...)
	}
	lost(last, nil, errTooManyGaps)
	return nil
}

// errTooManyGaps is why the rest of a column is not looked at.
var errTooManyGaps = fmt.Errorf("it cannot be read in %d places; `stoa salvage` copies what can be", MostGaps)

// cursor is a column of a store at one of its rows. It goes on behind what cannot be
// read: it calls lost as walkAround does.
type cursor struct {
	source *Source
	col    column.Column
	it     *engine.Iterator
	last   []byte // the key of its last row
	gaps   int    // places that cannot be read
	lost   func(after, before []byte, err error)
	done   bool
}

func (s *Source) cursor(col column.Column, lost func(after, before []byte, err error)) (*cursor, error) {
	it, err := s.Iterate(col, engine.Range{})
	return &cursor{source: s, col: col, it: it, lost: lost}, err
}

// next moves c to its next row, or is done.
func (c *cursor) next() error {
	for !c.done {
		if c.it.Next() {
			c.last = append(c.last[:0], c.it.Key()...)
			return nil
		}
		err := c.it.Err()
		if !isDamage(err) {
			c.done = true
			return err
		}
		if err := c.around(err); err != nil {
			return err
		}
	}
	return nil
}

// around moves c behind what cannot be read.
func (c *cursor) around(damage error) error {
	next, err := past(c.source, c.col, c.last)
	c.lost(c.last, next, damage)
	if c.gaps++; err != nil || next == nil {
		c.done = true
		return err
	}
	if c.gaps == MostGaps {
		c.done = true
		c.lost(next, nil, errTooManyGaps)
		return nil
	}
	it, err := c.source.Iterate(c.col, engine.Range{Start: next})
	if err != nil {
		c.done = true
		return err
	}
	err = c.it.Close()
	c.it, c.last = it, append(c.last[:0], next...)
	return err
}

func (c *cursor) close() error {
	if c.it == nil { // there is no such column
		return nil
	}
	return c.it.Close()
}

// tolerated returns the finding that an error which concerns one column only makes;
// ok is false for any other.
func tolerated(c column.Column, err error) (f Finding, ok bool) {
	switch {
	case errors.Is(err, engine.ErrSchema):
		return NewFinding("no-column", c, nil, err.Error()), true
	case isDamage(err):
		return NewFinding("unreadable", c, nil, err.Error()), true
	}
	return f, false
}

// isDamage reports whether err says that stored bytes are damaged.
func isDamage(err error) bool { return errors.Is(err, engine.ErrCorrupt) }
