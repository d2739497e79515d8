package exchange

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/namespace/envelope"
)

// want has an envelope be asked for, once.
func (s *session) want(d *difference, t token) {
	if d.asked == nil {
		d.asked = map[token]bool{}
	}
	if !d.asked[t] && s.asked < maxAsked {
		s.asked++
		d.asked[t] = true
		d.wants = append(d.wants, t)
	}
}

// fetch asks for what others wait for, and for what was found to be missing, until nothing is.
func (s *session) fetch() error {
	for range maxFetches {
		asked, wanted := 0, make([][][16]byte, len(s.differing))
		for _, d := range s.differing {
			if err := s.lift(d); err != nil {
				return err
			}
		}
		err := s.turn(func(put func(kind, []byte) error) error {
			for i, d := range s.differing {
				if len(d.wants) == 0 {
					continue
				}
				b := binary.LittleEndian.AppendUint32(nil, uint32(i))
				for _, t := range d.wants[:min(len(d.wants), maxWants)] {
					b = append(b, t[:]...)
				}
				if err := put(kindWant, b); err != nil {
					return err
				}
			}
			return nil
		}, func(_ kind, body []byte) error {
			c := cutter.New("want", body)
			number := int(c.U32("number"))
			if c.Err != nil || len(c.Rest)%len(token{}) != 0 || len(c.Rest) > maxWants*len(token{}) || number >= len(s.named) {
				return malformed("envelopes that it wants, in %d bytes, of context %d", len(body), number)
			}
			asked++
			i := slices.Index(s.differing, s.named[number])
			switch {
			case i < 0 || s.differing[i].takes:
				return malformed("it wants envelopes of a context that was not named here, or that it may not read")
			case wanted[i] != nil || len(c.Rest) == 0:
				return malformed("envelopes that it wants of context %d: none, or twice", number)
			}
			for rest := c.Rest; len(rest) > 0; rest = rest[len(token{}):] {
				wanted[i] = append(wanted[i], [16]byte(rest))
			}
			return nil
		}, kindWant)
		if err != nil {
			return err
		}
		for _, d := range s.differing {
			asked += len(d.wants)
			d.wants = d.wants[min(len(d.wants), maxWants):]
		}
		if asked == 0 {
			break
		}
		err = s.envelopes(func(i int, put func([]byte) error) error {
			if len(wanted[i]) == 0 {
				return nil
			}
			return each(s.Content.Named(s.ctx, s.differing[i].id, wanted[i]), put)
		})
		if err != nil {
			return err
		}
	}
	for _, d := range s.differing {
		d.report.Waits += len(d.waiting)
		d.waiting, d.asked, d.wants = nil, nil, nil
	}
	s.waits, s.asked = 0, 0
	return nil
}

// lift offers what waits again, parents first.
func (s *session) lift(d *difference) error {
	again := parentsFirst(d.waiting)
	d.waiting = nil
	for _, b := range again {
		s.waits -= len(b)
	}
	for len(again) > 0 {
		n := min(len(again), envelopesOnce)
		still, err := s.offer(d, again[:n])
		if err != nil {
			return err
		}
		d.waiting, again = append(d.waiting, s.keep(d, still)...), again[n:]
	}
	return nil
}

// parentsFirst returns envelopes in an order in which each comes after its parents, and once.
func parentsFirst(all [][]byte) (order [][]byte) {
	type one struct {
		*envelope.Envelope
		left bool // its parents are in order, and it is next
		done bool
	}
	byID := map[codec.EnvelopeID]*one{}
	var stack []*one
	for _, b := range slices.Backward(all) {
		if e, err := envelope.Parse(b); err == nil && byID[e.ID] == nil {
			byID[e.ID] = &one{Envelope: e}
			stack = append(stack, byID[e.ID])
		}
	}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		switch {
		case top.done:
			stack = stack[:len(stack)-1]
		case top.left:
			top.done = true
			order = append(order, top.Bytes())
		default:
			top.left = true
			for _, p := range top.Parents {
				if below := byID[p]; below != nil && !below.left {
					stack = append(stack, below)
				}
			}
		}
	}
	return order
}

// search finds out in which envelopes the contexts differ that are not level, and has what is missing
// be asked for.
func (s *session) search() error {
	var open []*difference
	for _, d := range s.differing {
		if d.even() && !d.report.Level {
			open = append(open, d)
		}
	}
	slices.SortFunc(open, func(a, b *difference) int { return codec.CompareID(a.id, b.id) })
	sets := make([]set, len(open))
	for i, d := range open {
		sets[i] = s.envelopeSet(d.id)
	}
	all, err := s.reconcile(sets, len(token{}))
	if err != nil {
		return err
	}
	for i, d := range open {
		for _, item := range all[i].theirs {
			s.want(d, token(item))
		}
	}
	return nil
}

// envelopeSet returns what counts of a context, as items: the first bytes of ids of envelopes.
func (s *session) envelopeSet(id codec.ContextID) set {
	return func(from []byte) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			var first codec.EnvelopeID
			copy(first[:], from)
			var last token
			for e, err := range s.Content.IDs(id, first) {
				t := token(e[:len(token{})])
				if err == nil && t == last {
					continue // two that begin alike are one item
				}
				if last = t; !yield(t[:], err) || err != nil {
					return
				}
			}
		}
	}
}
