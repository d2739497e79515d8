package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec/cutter"
)

// Two sides find out in what their sets of items differ, of which each has its own in order: one sends
// hashes of ranges, the other parts of those that differ, until a range has so few items that they are
// listed. It is range-based set reconciliation (Meyer, arXiv 2212.13567), with hashes in the place of
// sums, which nobody can make match.

// Limits of it.
const (
	fewItems  = 32              // of a range, which is listed
	splits    = 16              // of one that has more
	maxPasses = 32              // messages until it ends
	maxFound  = 1 << 18         // items in which the two are found to differ, in all sets: the others are left to the next session
	maxRanges = maxItem - 1<<20 // bytes of a message: what would be more is left to the next session
)

// mode says what a message has about a range.
type mode byte

const (
	modeEqual  mode = iota // nothing more is to be said
	modeHash               // the hash of its items
	modeItems              // its items
	modeAnswer             // after modeItems: the items that are only here, and those that are only there
)

// set is the items of a side: yields those from a bound on, in ascending order, all of one length.
type set func(from []byte) iter.Seq2[[]byte, error]

// span is a range, up to a bound and without it; none: to the end.
type span struct {
	mode  mode
	upper []byte
	last  bool
	count uint32
	hash  token
	items [][]byte // modeItems; modeAnswer: those that the sender alone has
	lacks [][]byte // modeAnswer: and those that it lacks
}

// found is what is known of how two sets differ.
type found struct {
	mine, theirs [][]byte // items that one side alone has
}

// note adds items that one side alone has.
func (f *found) note(mine, theirs [][]byte) {
	mine = mine[:min(len(mine), max(maxFound-len(f.mine), 0))]
	theirs = theirs[:min(len(theirs), max(maxFound-len(f.theirs), 0))]
	f.mine, f.theirs = append(f.mine, mine...), append(f.theirs, theirs...)
}

// walk calls fn with the items of a range.
func (s set) walk(lower []byte, sp *span, fn func([]byte)) error {
	for item, err := range s(lower) {
		if err != nil {
			return err
		}
		if !sp.last && bytes.Compare(item, sp.upper) >= 0 {
			return nil
		}
		fn(item)
	}
	return nil
}

// hashed returns the hash and the count of a range.
func (s set) hashed(lower []byte, sp *span) (hash token, count uint32, err error) {
	h := sha256.New()
	err = s.walk(lower, sp, func(item []byte) {
		h.Write(item)
		count++
	})
	return token(h.Sum(nil)[:16]), count, err
}

// described appends a range as this side has it, or parts of it.
func (s set) described(out []span, lower []byte, sp *span, count uint32) ([]span, error) {
	if count <= fewItems {
		one := span{mode: modeItems, upper: sp.upper, last: sp.last}
		err := s.walk(lower, sp, func(item []byte) { one.items = append(one.items, bytes.Clone(item)) })
		return append(out, one), err
	}
	each := (count + splits - 1) / splits
	h, n := sha256.New(), uint32(0)
	var before []byte
	err := s.walk(lower, sp, func(item []byte) {
		if n == each {
			out = append(out, span{mode: modeHash, upper: between(before, item), count: n, hash: token(h.Sum(nil)[:16])})
			h.Reset()
			n = 0
		}
		h.Write(item)
		n++
		before = append(before[:0], item...)
	})
	return append(out, span{mode: modeHash, upper: sp.upper, last: sp.last, count: n, hash: token(h.Sum(nil)[:16])}), err
}

// between returns the shortest bound that is above a, and not above b.
func between(a, b []byte) []byte {
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return bytes.Clone(b[:i+1])
}

// opening returns what is said first.
func (s set) opening() ([]span, error) {
	all := &span{last: true}
	_, count, err := s.hashed(nil, all)
	if err != nil {
		return nil, err
	}
	return s.described(nil, nil, all, count)
}

// answer returns what is said next, and adds to found what is known now. goes says that the other side
// is to answer.
func (s set) answer(spans []span, f *found) (out []span, goes bool, err error) {
	var lower []byte
	size := 0
	for i := range spans {
		sp := &spans[i]
		if size > maxRanges {
			out = append(out, span{mode: modeEqual, last: true})
			break
		}
		reply := []span{{mode: modeEqual, upper: sp.upper, last: sp.last}}
		switch sp.mode {
		case modeHash:
			hash, count, err := s.hashed(lower, sp)
			if err != nil {
				return nil, false, err
			}
			if count == sp.count && hash == sp.hash {
				break
			}
			goes = true
			if reply, err = s.described(nil, lower, sp, count); err != nil {
				return nil, false, err
			}
		case modeItems:
			reply[0].mode = modeAnswer
			next := 0
			err := s.walk(lower, sp, func(item []byte) {
				for ; next < len(sp.items) && bytes.Compare(sp.items[next], item) < 0; next++ {
					reply[0].lacks = append(reply[0].lacks, sp.items[next])
				}
				if next < len(sp.items) && bytes.Equal(sp.items[next], item) {
					next++
					return
				}
				reply[0].items = append(reply[0].items, bytes.Clone(item))
			})
			if err != nil {
				return nil, false, err
			}
			reply[0].lacks = append(reply[0].lacks, sp.items[next:]...)
			f.note(reply[0].items, reply[0].lacks)
			if len(reply[0].items)+len(reply[0].lacks) == 0 {
				reply[0].mode = modeEqual
			} else {
				goes = true
			}
		case modeAnswer:
			f.note(sp.lacks, sp.items)
		}
		size += len(appendSpans(nil, reply))
		for _, r := range reply { // what is equal goes together with what is beside it
			if last := len(out) - 1; last >= 0 && r.mode == modeEqual && out[last].mode == modeEqual {
				out[last] = r
			} else {
				out = append(out, r)
			}
		}
		lower = sp.upper
	}
	return out, goes, nil
}

// appendSpans appends ranges.
func appendSpans(b []byte, spans []span) []byte {
	for i := range spans {
		sp := &spans[i]
		b = append(b, byte(sp.mode), byte(len(sp.upper)))
		b = append(b, sp.upper...)
		switch sp.mode {
		case modeHash:
			b = append(binary.LittleEndian.AppendUint32(b, sp.count), sp.hash[:]...)
		case modeItems:
			b = appendItems(b, sp.items)
		case modeAnswer:
			b = appendItems(appendItems(b, sp.items), sp.lacks)
		}
	}
	return b
}

func appendItems(b []byte, items [][]byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(items)))
	for _, item := range items {
		b = append(b, item...)
	}
	return b
}

// spansOf takes ranges apart, of items of a length.
func spansOf(b []byte, itemLen int) ([]span, error) {
	c := cutter.New("ranges", b)
	var spans []span
	var lower []byte
	for len(c.Rest) > 0 {
		sp := span{mode: mode(c.U8("mode"))}
		n := int(c.U8("bound"))
		sp.upper = c.Take("bound", n)
		sp.last = n == 0
		switch sp.mode {
		case modeEqual:
		case modeHash:
			sp.count = c.U32("count")
			sp.hash = tokenOf(&c, "hash")
		case modeItems:
			sp.items = itemsOf(&c, itemLen, lower, &sp)
		case modeAnswer:
			sp.items = itemsOf(&c, itemLen, lower, &sp)
			sp.lacks = itemsOf(&c, itemLen, lower, &sp)
		default:
			c.Fail("mode", "unknown")
		}
		if c.Err == nil && (n > itemLen || !sp.last && bytes.Compare(sp.upper, lower) <= 0 || sp.last != (len(c.Rest) == 0)) {
			c.Fail("bound", "not after the one before, or not the last")
		}
		lower = sp.upper
		spans = append(spans, sp)
	}
	return spans, ended(&c)
}

// itemsOf takes items off, which are in order and within a range.
func itemsOf(c *cutter.Cutter, itemLen int, lower []byte, sp *span) (items [][]byte) {
	n := c.Count("items", itemLen)
	for range n {
		item := c.Take("item", itemLen)
		if c.Err == nil && (bytes.Compare(item, lower) < 0 || !sp.last && bytes.Compare(item, sp.upper) >= 0 ||
			len(items) > 0 && bytes.Compare(items[len(items)-1], item) >= 0) {
			c.Fail("item", "out of order, or of its range")
			return nil
		}
		items = append(items, item)
	}
	return items
}

// setOf returns the set of items that are in order.
func setOf(items [][]byte) set {
	return func(from []byte) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			i, _ := slices.BinarySearchFunc(items, from, bytes.Compare)
			for ; i < len(items); i++ {
				if !yield(items[i], nil) {
					return
				}
			}
		}
	}
}
