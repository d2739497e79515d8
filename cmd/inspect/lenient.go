package inspect

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
)

// Lenient returns a reader of s that goes on behind damage: a row that cannot be read,
// or whose key or value does not parse, is as one that is not there. Each such place is
// passed to tell, once, from whichever goroutine meets it first; others wait. What the
// bytes of a row mean to the package that keeps it is not looked at: a value that parses
// and is wrong is read as it is. Errors of tell, and those that are not of damage, end a
// read. It is safe for concurrent use, and s must outlive it.
func (s *Source) Lenient(tell func(Finding) error) engine.Reader {
	return &lenient{s: s, tell: tell, told: map[string]bool{}}
}

// AsIs is Lenient that passes on rows that do not parse, as they are: what cannot be read
// is left out, and nothing else.
func (s *Source) AsIs(tell func(Finding) error) engine.Reader {
	return &lenient{s: s, tell: tell, asIs: true, told: map[string]bool{}}
}

type lenient struct {
	s    *Source
	tell func(Finding) error
	asIs bool // rows are not looked at

	mu   sync.Mutex
	told map[string]bool // the places that were passed to tell
}

// met tells of a place, unless that was done.
func (l *lenient) met(f Finding) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	place := f.Code + f.Column + f.Key
	if l.told[place] {
		return nil
	}
	if len(l.told) == MostGaps {
		return fmt.Errorf("inspect: %w: %w", engine.ErrCorrupt, errTooManyGaps)
	}
	l.told[place] = true
	return l.tell(f)
}

// parses reports whether a row does, and tells of one that does not.
func (l *lenient) parses(col column.Column, key, value []byte) (bool, error) {
	if l.asIs {
		return true, nil
	}
	code := "value"
	_, err := keys.Identify(col, key)
	if err != nil {
		code = "key"
	} else if err = keys.Check(col, key, value); err == nil && col == column.Generic && keys.Scope(key).IsKV() {
		err = kv.CheckRow(key, value)
	}
	if err == nil {
		return true, nil
	}
	return false, l.met(NewFinding(code, col, key, err.Error()))
}

// Get appends the value of a key to dst; see [engine.Getter].
func (l *lenient) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	got, err := l.s.Get(dst, col, key)
	if isDamage(err) {
		return dst, errors.Join(engine.ErrNotFound, l.met(NewFinding("unreadable", col, key, err.Error())))
	}
	if err != nil {
		return got, err
	}
	ok, err := l.parses(col, key, got[len(dst):])
	if err == nil && !ok {
		err = engine.ErrNotFound
	}
	if err != nil {
		return dst, err
	}
	return got, nil
}

// MultiGet looks up keys in one state; see [engine.Reader].
func (l *lenient) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	grown, err := l.s.MultiGet(buf, lookups)
	if isDamage(err) {
		return l.oneByOne(buf, lookups)
	}
	for i := range lookups {
		if err != nil {
			return buf, err
		}
		if at := &lookups[i]; at.Found {
			if at.Found, err = l.parses(at.Column, at.Key, at.Value); !at.Found {
				at.Value = nil
			}
		}
	}
	return grown, err
}

// oneByOne is MultiGet where one of the rows cannot be read.
func (l *lenient) oneByOne(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	for i := range lookups {
		at := &lookups[i]
		value, err := l.Get(nil, at.Column, at.Key)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			at.Value, at.Found = nil, false
		case err != nil:
			return buf, err
		default:
			at.Value, at.Found = value, true
		}
	}
	return buf, nil
}

// Iterate returns an iterator over a range of a column; see [engine.Reader].
func (l *lenient) Iterate(col column.Column, rg engine.Range) (*engine.Iterator, error) {
	limit := rg.Limit
	rg.Limit = 0 // of rows that parse
	p := &lenientPager{l: l, col: col, rest: rg}
	if err := p.open(); err != nil {
		return nil, err
	}
	return engine.NewIterator(p, limit), nil
}

// lenientPager walks through a range, around what cannot be read.
type lenientPager struct {
	l    *lenient
	col  column.Column
	rest engine.Range // from the last gap on
	it   *engine.Iterator
	last []byte // the key of its last row; nil: there was none behind the gap
	gaps int
	done bool
}

func (p *lenientPager) open() (err error) {
	p.it, err = p.l.s.Iterate(p.col, p.rest)
	return err
}

// Page appends the next entries to dst; see [engine.Pager].
func (p *lenientPager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	n, begun := 0, len(dst)
	for !p.done && n < maxEntries && (n == 0 || len(dst)-begun < maxBytes) {
		if !p.it.Next() {
			if err := p.around(p.it.Err()); err != nil {
				return dst, n, err
			}
			continue
		}
		p.last = append(p.last[:0], p.it.Key()...)
		ok, err := p.l.parses(p.col, p.it.Key(), p.it.Value())
		if err != nil {
			return dst, n, err
		}
		if ok {
			dst = engine.AppendEntry(dst, p.it.Key(), p.it.Value())
			n++
		}
	}
	return dst, n, nil
}

// around goes on behind damage, which has ended the iterator; nil: it is at its end.
func (p *lenientPager) around(damage error) error {
	if damage == nil || !isDamage(damage) {
		p.done = true
		return damage
	}
	if p.gaps++; p.gaps > MostGaps {
		p.done = true
		return fmt.Errorf("inspect: %w: %w", engine.ErrCorrupt, errTooManyGaps)
	}
	rest, more, f, err := p.l.s.Around(p.col, p.rest, p.last, damage)
	if err := errors.Join(p.l.met(f), err); err != nil {
		p.done = true
		return err
	}
	if !more {
		p.done = true
		return nil
	}
	before := p.it
	p.rest, p.last = rest, nil
	if err := p.open(); err != nil {
		p.it, p.done = before, true
		return err
	}
	return before.Close()
}

// Close gives back what the pager holds; see [engine.Pager].
func (p *lenientPager) Close() error { return p.it.Close() }
