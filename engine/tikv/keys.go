package tikv

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// A key of the cluster is the prefix of the store, a byte, and more: the byte is the column of a
// row, whose key follows, or 0 for what the engine keeps for itself.

// The rows of the engine itself, after a byte of zero.
const (
	ownLayout = "layout"
	ownWriter = "writer/"
	ownTail   = "tail/"
	ownPart   = "part/"
	ownLarge  = "large/"
	ownLead   = "lead"
	ownAlive  = "alive/"
	ownNode   = "node"
)

// own returns the key of a row of the engine itself.
func (e *Engine) own(name string) []byte {
	return append(append([]byte(e.prefix), 0), name...)
}

// eachOwn calls fn with the rows whose keys begin with a prefix, until it returns an error, which it
// returns. Keys and values are valid during the call.
func (e *Engine) eachOwn(prefix []byte, fn func(key, value []byte) error) error {
	ts, err := e.useNow()
	if err != nil {
		return err
	}
	defer e.done()
	at, err := e.store.GetSnapshot(ts).Iter(prefix, engine.Successor(prefix))
	if err != nil {
		return e.fault(err)
	}
	defer at.Close()
	for at.Valid() {
		if err := fn(at.Key(), at.Value()); err != nil {
			return err
		}
		if err := at.Next(); err != nil {
			return e.fault(err)
		}
	}
	return nil
}

// written returns the key of the row that a write of this engine leaves its number in.
func (e *Engine) written() []byte { return append(e.own(ownWriter), e.writer...) }

// TiKV takes keys of up to 8 KiB as it codes them, and client-go counts their bytes in 16 bits. So a key
// of more than maxSegment bytes is cut: the row is that of what follows its first maxSegment, among those
// of all keys that begin with the same ones, and a row with the first ones and a byte of zero says that
// there are some, at the place in the order where they belong. What follows may be cut in turn.
const maxSegment = 4 << 10

// space is where rows lie whose keys begin alike: what their keys in the cluster begin with.
type space []byte

func (e *Engine) column(col column.Column) space { return append([]byte(e.prefix), byte(col)) }

// within returns the space of the keys that begin with a segment, which is as long as segments are.
func (e *Engine) within(s space, segment []byte) space {
	h := sha256.New()
	h.Write(s)
	h.Write(segment)
	return h.Sum(e.own(ownTail))
}

// at returns the key in the cluster of what is left of a key in a space.
func (s space) at(key []byte) []byte {
	return append(append(make([]byte, 0, len(s)+len(key)), s...), key...)
}

// passage returns the key of the row that says that keys begin with a segment.
func (s space) passage(segment []byte) []byte { return append(s.at(segment), 0) }

// end returns the first key after a space.
func (s space) end() []byte { return engine.Successor(s) }

// passed is a row on the way to that of a cut key, and the space to which it leads.
type passed struct {
	row []byte
	to  space
}

// way returns the key in the cluster of a row, and what is passed on the way to it, outermost first.
func (e *Engine) way(col column.Column, key []byte) (row []byte, way []passed) {
	s := e.column(col)
	for len(key) > maxSegment {
		segment := key[:maxSegment]
		way = append(way, passed{s.passage(segment), e.within(s, segment)})
		s, key = way[len(way)-1].to, key[maxSegment:]
	}
	return s.at(key), way
}

// key returns the key in the cluster of a row.
func (e *Engine) key(col column.Column, key []byte) []byte {
	row, _ := e.way(col, key)
	return row
}

// cursor is an iterator of client-go.
type cursor interface {
	Valid() bool
	Key() []byte
	Value() []byte
	Next() error
	Close()
}

// opener opens cursors over a state of the cluster.
type opener struct {
	up   func(start, end []byte) (cursor, error)
	down func(end []byte) (cursor, error)
}

// walk visits the rows of a range in order, those of cut keys where they belong.
type walk struct {
	engine *Engine
	from   opener
	back   bool
	levels []level // the last is where it is
}

// level is a walk in one space.
type level struct {
	space      space
	before     []byte // what keys begin with that lie in the space
	start, end []byte // of what is left of keys; an end of nil is none
	cursor     cursor
}

// enter begins to walk in a space.
func (w *walk) enter(s space, before, start, end []byte) error {
	lowest, highest := s.at(start), s.end()
	if len(start) > maxSegment {
		lowest = s.passage(start[:maxSegment])
	}
	if end != nil {
		highest = s.at(end)
		if len(end) > maxSegment {
			highest = append(s.at(end[:maxSegment]), 1)
		}
	}
	if bytes.Compare(lowest, highest) >= 0 {
		return nil
	}
	var at cursor
	var err error
	if w.back {
		at, err = w.from.down(highest)
	} else {
		at, err = w.from.up(lowest, highest)
	}
	if err != nil {
		return err
	}
	w.levels = append(w.levels, level{space: s, before: before, start: start, end: end, cursor: bounded{at, lowest}})
	return nil
}

// bounded is a cursor that ends at its lowest key, which client-go does not know where it goes down.
type bounded struct {
	cursor
	lowest []byte
}

func (b bounded) Valid() bool {
	return b.cursor.Valid() && bytes.Compare(b.cursor.Key(), b.lowest) >= 0
}

// next returns the next row, and whether there is one. Key and row are the caller's.
func (w *walk) next() (key, row []byte, ok bool, err error) {
	for len(w.levels) > 0 {
		l := &w.levels[len(w.levels)-1]
		if !l.cursor.Valid() {
			l.cursor.Close()
			w.levels = w.levels[:len(w.levels)-1]
			continue
		}
		key, row := append(slices.Clip(l.before), l.cursor.Key()[len(l.space):]...), bytes.Clone(l.cursor.Value())
		if err := l.cursor.Next(); err != nil {
			return nil, nil, false, err
		}
		rest := key[len(l.before):]
		if len(rest) <= maxSegment {
			return key, row, true, nil
		}
		segment := rest[:maxSegment]
		if err := w.enter(w.engine.within(l.space, segment), key[:len(key)-1], below(l.start, segment), below(l.end, segment)); err != nil {
			return nil, nil, false, err
		}
	}
	return nil, nil, false, nil
}

// below returns what a bound is for the keys that begin with a segment.
func below(bound, segment []byte) []byte {
	if len(bound) > maxSegment && bytes.HasPrefix(bound, segment) {
		return bound[maxSegment:]
	}
	return nil
}

func (w *walk) close() {
	for _, l := range w.levels {
		l.cursor.Close()
	}
	w.levels = nil
}
