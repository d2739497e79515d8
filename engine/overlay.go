package engine

import "github.com/stoadb/stoa/column"

// Overlay is a store with the changes of a batch on top that is still being made: who
// makes it reads its own writes. It is a [Reader]. The zero Overlay is to be Reset
// before it is used.
//
// A batch that nobody reads costs nothing: what it has got since the last read is
// looked through by the next. Keys and values stay where they are in the batch. An
// Overlay is for one goroutine.
type Overlay struct {
	base    Getter
	batch   *Batch // nil: none
	seen    int    // bytes of the batch that are in changes
	changes changes
}

var _ Reader = (*Overlay)(nil)

// Reset has the overlay show base with the changes of b on top, those that b gets
// later too; nil: none. It is to be called again when b is reset. It keeps memory for
// the next batch, and neither b nor base if they are nil.
func (o *Overlay) Reset(base Getter, b *Batch) {
	o.base, o.batch, o.seen = base, b, 0
	o.changes.reset()
}

// update takes in what the batch has got since the last time.
func (o *Overlay) update() error {
	if o.batch == nil || len(o.batch.ops) <= max(o.seen, BatchHeader) {
		return nil
	}
	// The length of a header before what is new makes it the bytes of a batch.
	for op, err := range Changes(o.batch.ops[max(o.seen, BatchHeader)-BatchHeader:]) {
		if err != nil {
			return err
		}
		o.changes.take(op)
	}
	o.seen = len(o.batch.ops)
	return nil
}

// Get appends the value of a key to dst; see [Getter]. It returns ErrBatch if the
// batch is not well formed, as the other methods do.
func (o *Overlay) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if err := o.update(); err != nil {
		return dst, err
	}
	if o.changes.none() {
		return o.base.Get(dst, col, key)
	}
	value, deleted, known := o.changes.get(col, key)
	switch {
	case !known:
		return o.base.Get(dst, col, key)
	case deleted:
		return dst, ErrNotFound
	}
	return append(dst, value...), nil
}

// Changed reports whether the batch says what is under a key, a range that it deletes
// included.
func (o *Overlay) Changed(col column.Column, key []byte) (bool, error) {
	if err := o.update(); err != nil {
		return false, err
	}
	_, _, known := o.changes.get(col, key)
	return known, nil
}

// MultiGet looks up many keys; see [Reader]. It returns ErrUnsupported if the base is
// no Reader.
func (o *Overlay) MultiGet(buf []byte, lookups []Lookup) ([]byte, error) {
	base, err := o.reader()
	if err != nil {
		return buf, err
	}
	if o.changes.none() {
		return base.MultiGet(buf, lookups)
	}
	start := len(buf)
	var stored []Lookup
	var at []int
	for i := range lookups {
		l := &lookups[i]
		value, deleted, known := o.changes.get(l.Column, l.Key)
		l.Value, l.Found = value, known && !deleted
		if !known {
			stored, at = append(stored, *l), append(at, i)
		}
		buf = append(buf, value...)
	}
	if buf, err = base.MultiGet(buf, stored); err != nil {
		return buf, err
	}
	PlaceValues(buf, start, lookups)
	for i, l := range stored {
		lookups[at[i]] = l
	}
	return buf, nil
}

// Iterate returns an iterator; see [Reader]. It is to be closed before the batch
// changes. It returns ErrUnsupported if the base is no Reader.
func (o *Overlay) Iterate(col column.Column, r Range) (*Iterator, error) {
	base, err := o.reader()
	if err != nil {
		return nil, err
	}
	if o.changes.none() || !col.Valid() {
		return base.Iterate(col, r)
	}
	touched := o.changes.drops(col, &r)
	if !touched {
		o.changes.visit(col, &r, func(sortedRow) bool {
			touched = true
			return false
		})
	}
	if !touched {
		return base.Iterate(col, r)
	}
	m := &merger{changes: &o.changes, column: col, rest: r, most: firstMerged}
	m.rest.Limit = 0
	if m.stored, err = base.Iterate(col, m.rest); err != nil {
		return nil, err
	}
	m.more = m.stored.Next()
	return NewIterator(m, r.Limit), nil
}

// reader returns the base, with all changes of the batch taken in.
func (o *Overlay) reader() (Reader, error) {
	base, ok := o.base.(Reader)
	if !ok {
		return nil, ErrUnsupported
	}
	return base, o.update()
}
