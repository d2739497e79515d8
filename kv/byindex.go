package kv

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// IndexOptions say which records of an index a page has.
type IndexOptions struct {
	From, To []byte // terms from From up to, but without, To; a To of nil is no bound
	Reverse  bool   // the last term first
	Cursor   string // of the page before, whose other options were the same; "": the first page
	Limit    int    // records of a page, at most MaxPage; 0: 100
	// Keep says which records the page has; nil: all. It must not keep its arguments.
	Keep func(term []byte, r *Record) bool
	// Asked is what Keep goes by: cursors are for pages that were asked the same.
	Asked []byte
	// Look is how many records are looked at for a page at most, so that one that Keep
	// finds little for ends. It may then have fewer than Limit records, or none, and be
	// followed by others all the same; 0: no bound.
	Look int
}

// Found is a record that an index led to.
type Found struct {
	Term []byte
	Record
}

// ByIndex returns a page of the records by their terms in an index of the type,
// in order of the terms and then of the keys. A record is there once for each of
// its terms in the range. Errors are those of List.
func (s *Space) ByIndex(ctx context.Context, index uint16, o IndexOptions) ([]Found, string, error) {
	view, err := s.View()
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = view.Close() }()
	return view.ByIndex(ctx, index, o)
}

// ByIndex yields what an index has in the state of the view; see [Space.ByIndex].
func (v *View) ByIndex(ctx context.Context, index uint16, o IndexOptions) ([]Found, string, error) {
	r, keys, err := termRange(v.scope, v.typ, index, o.From, o.To)
	if err != nil || bytes.Compare(r.Start, r.End) >= 0 {
		return nil, "", err
	}
	r.Reverse = o.Reverse
	question := appendText(appendText([]byte{byte(ShapeIndex), byte(index >> 8), byte(index), boolByte(o.Reverse)}, o.From), o.To)
	question = append(question, o.Asked...)
	limit, err := v.resume(&r, question, o.Cursor, o.Limit)
	if err != nil {
		return nil, "", err
	}
	p := indexPage{view: v, options: &o, limit: limit, keys: keys}
	end, err := p.fill(ctx, r)
	if err != nil {
		return nil, "", err
	}
	if end == nil {
		return p.found, "", nil
	}
	return p.found, v.store.cursor(v.scope, question, end[len(v.scope):]), nil
}

// indexPage is a page of an index in the making. Rows of the index are read a few at a
// time, and then the records that they lead to, all at once.
type indexPage struct {
	view    *View
	options *IndexOptions
	limit   int
	keys    bool // the rows are those of the records
	found   []Found
	size    int    // bytes of what is found
	looked  int    // records looked at
	read    int    // bytes of theirs
	last    []byte // the row of the last record that is found
	most    int    // records of the next read
}

// firstRead is how many records are read at once at first: their values may be long.
const firstRead = 8

// fill takes records until the page is full, and returns the row that the next page
// begins behind; nil if there is none.
func (p *indexPage) fill(ctx context.Context, r engine.Range) (end []byte, err error) {
	next, stop := iter.Pull2(scanRows(ctx, p.view.reader, r))
	defer stop()
	for p.most = firstRead; ; p.most = p.afford() {
		want := p.want()
		rows := make([]storedRow, 0, want)
		var room []byte // of the rows, which are the iterator's until it goes on
		kept := func(b []byte) []byte {
			if room = append(room, b...); len(b) == 0 {
				return nil
			}
			return room[len(room)-len(b) : len(room) : len(room)]
		}
		for len(rows) < want {
			row, err, ok := next()
			if !ok {
				break
			}
			if err != nil {
				return nil, err
			}
			row.raw, row.value = kept(row.raw), kept(row.value)
			rows = append(rows, row)
		}
		if len(rows) == 0 {
			return nil, nil
		}
		if full, err := p.take(rows); err != nil || full {
			return p.last, err
		}
		p.looked += len(rows)
		if p.looked == p.options.Look {
			return rows[len(rows)-1].raw, nil
		}
	}
}

// want is how many records to read next.
func (p *indexPage) want() int {
	n := min(p.most, p.limit+1-len(p.found))
	if p.options.Look > 0 {
		n = min(n, p.options.Look-p.looked)
	}
	return n
}

// afford is how many records to read at once, of the size of those so far.
func (p *indexPage) afford() int {
	return min(max(pageBytes/4/p.each(), 1), 4*p.most, MaxTxRead)
}

// each is about how many bytes a record has, by those so far.
func (p *indexPage) each() int {
	if p.looked == 0 {
		return 512
	}
	return max(p.read/p.looked, 64)
}

// take reads the records of rows of the index, and says whether the page was full before
// the last.
func (p *indexPage) take(rows []storedRow) (full bool, err error) {
	lookups, err := p.records(rows)
	if err != nil {
		return false, err
	}
	p.found = slices.Grow(p.found, min(len(rows), p.limit-len(p.found)))
	now := p.view.time()
	var record Record
	for i, row := range rows {
		if !lookups[i].Found {
			continue // removed since the row was read, in a view of the present
		}
		p.read += len(lookups[i].Value)
		if record, err = parseRecord(lookups[i].Key, row.Key, lookups[i].Value); err != nil {
			return false, err
		}
		if p.keys {
			row.Name = row.Key
		}
		if record.expired(now) || p.options.Keep != nil && !p.options.Keep(row.Name, &record) {
			continue
		}
		if len(p.found) == p.limit || p.size >= pageBytes {
			return true, nil
		}
		p.found = append(p.found, Found{row.Name, record})
		p.size += len(record.Key) + len(record.Value) + len(row.Name) + 64
		p.last = row.raw
	}
	return false, nil
}

// records looks up the records of rows of the index.
func (p *indexPage) records(rows []storedRow) ([]engine.Lookup, error) {
	lookups, size := make([]engine.Lookup, len(rows)), 0
	for i, row := range rows {
		if p.keys {
			lookups[i] = engine.Lookup{Key: row.raw, Value: row.value, Found: true}
		}
		size += len(p.view.scope) + 1 + len(row.Key)
	}
	if p.keys {
		return lookups, nil
	}
	keys := make([]byte, 0, size)
	for i, row := range rows {
		at := len(keys)
		keys = Row{Scope: p.view.scope, Shape: ShapeRecord, Key: row.Key}.AppendKey(keys)
		lookups[i] = engine.Lookup{Column: column.Generic, Key: keys[at:len(keys):len(keys)]}
	}
	room := make([]byte, 0, min(len(rows)*p.each()*5/4, pageBytes))
	_, err := p.view.reader.MultiGet(room, lookups)
	return lookups, err
}
