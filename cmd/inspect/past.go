package inspect

import (
	"bytes"
	"math/big"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// feelBytes is how many bytes of keys feel tells apart at least.
const feelBytes = 72

// past returns the first key of col that can be read again behind last, the last one
// that can be read before damage (nil: there is none); nil if none can. In a
// directory the ends of the damaged blocks say where. Its error is one that is not of
// damage.
func past(s *Source, col column.Column, last []byte) (next []byte, err error) {
	for _, end := range s.damagedEnds(col) {
		if bytes.Compare(end, last) < 0 {
			continue
		}
		last = append(bytes.Clone(end), 0)
		key, ok, err := readable(s, col, engine.Range{Start: last})
		if ok || err != nil {
			return key, err
		}
	}
	return feel(s, col, last, false)
}

// damagedEnds returns the ends of the damaged blocks of the tables of col, in order;
// none if they are not to be had. It looks once.
func (s *Source) damagedEnds(col column.Column) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	ends, known := s.ends[col]
	if !known && s.dir != "" {
		if s.ends == nil {
			s.ends = map[column.Column][][]byte{}
		}
		ends = s.findEnds(col)
		s.ends[col] = ends
	}
	return ends
}

func (s *Source) findEnds(col column.Column) (ends [][]byte) {
	m, err := diskfile.ReadManifest(s.dir)
	if err != nil {
		return nil
	}
	var buf []byte
	for _, f := range m.Families {
		if f.Name != col.String() {
			continue
		}
		for number := range f.Tables {
			t, err := diskfile.OpenListedTable(diskfile.TablePath(s.dir, number))
			if err != nil {
				continue
			}
			for i := range t.Blocks() {
				if buf, err = t.Check(buf, i); err != nil {
					ends = append(ends, t.End(i))
				}
			}
			t.Close()
		}
	}
	slices.SortFunc(ends, bytes.Compare)
	return ends
}

// Around returns what is left of a range behind damage, and the finding that it is:
// of col, the rows of rg could be read up to the key last (nil: not even the first),
// and then there was the error damage. There is nothing more if none of the rest can
// be read. Its error is one that is not of damage.
//
// In reverse the row behind each gap counts to it: RocksDB looks at the entry before a
// row, going down, before it gives it out.
func (s *Source) Around(col column.Column, rg engine.Range, last []byte, damage error) (rest engine.Range, more bool, f Finding, err error) {
	var next []byte
	after, before := rg.Start, rg.End
	if rg.Reverse {
		if last != nil {
			before = last
		}
		if next, err = feel(s, col, before, true); bytes.Compare(next, rg.Start) < 0 {
			next = nil
		}
		if next != nil {
			after, rg.End = next, append(bytes.Clone(next), 0)
		}
	} else {
		if last != nil {
			after = last
		}
		if next, err = past(s, col, after); rg.End != nil && bytes.Compare(next, rg.End) >= 0 {
			next = nil
		}
		if next != nil {
			before, rg.Start = next, next
		}
	}
	return rg, next != nil, NewFinding("unreadable", col, after, gap(after, before, damage)), err
}

// feel is past where the ends of blocks are not known. What cannot be read is mostly a
// block, so that it tries places that are farther and farther away, and then halves
// the distance until nothing lies between. Rows between two blocks that are near to
// each other may be passed over. Down, it looks for the last key before last (nil: of
// all) instead of the first one behind.
func feel(r engine.Reader, col column.Column, last []byte, down bool) (next []byte, err error) {
	// Places are numbers: keys that are filled up with zeros; down, they count from
	// the end.
	width := max(len(last)+2, feelBytes)
	end := new(big.Int).Lsh(big.NewInt(1), uint(8*width))
	end.Sub(end, big.NewInt(1))
	place := func(n *big.Int) *big.Int {
		if down {
			return new(big.Int).Sub(end, n)
		}
		return n
	}
	from := func(n *big.Int) (key []byte, ok bool, err error) {
		key = place(n).FillBytes(make([]byte, width))
		if down {
			return readable(r, col, engine.Range{End: key, Reverse: true})
		}
		return readable(r, col, engine.Range{Start: key})
	}
	low := new(big.Int) // cannot be read from
	if !down || last != nil {
		low.SetBytes(last)
		low = place(low.Lsh(low, uint(8*(width-len(last)))))
	}
	high := new(big.Int)
	for distance := uint(0); ; distance++ {
		if high.Cmp(end) == 0 {
			return nil, nil
		}
		if high.Add(low, new(big.Int).Lsh(big.NewInt(1), distance)); high.Cmp(end) > 0 {
			high.Set(end)
		}
		key, ok, err := from(high)
		if err != nil {
			return nil, err
		}
		if ok {
			next = key
			break
		}
	}
	for {
		middle := new(big.Int).Add(low, high)
		if middle.Rsh(middle, 1); middle.Cmp(low) == 0 {
			return next, nil
		}
		key, ok, err := from(middle)
		switch {
		case err != nil:
			return nil, err
		case ok:
			high, next = middle, key
		default:
			low = middle
		}
	}
}

// readable reports whether the first row of a range of col can be read, and returns
// its key; nil if there is none.
func readable(r engine.Reader, col column.Column, rg engine.Range) (key []byte, ok bool, err error) {
	rg.Limit = 1
	it, err := r.Iterate(col, rg)
	if err != nil {
		return nil, false, err
	}
	defer it.Close()
	if it.Next() {
		return append([]byte{}, it.Key()...), true, nil
	}
	if err := it.Err(); err != nil {
		if isDamage(err) {
			err = nil
		}
		return nil, false, err
	}
	return nil, true, nil
}
