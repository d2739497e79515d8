package exchange

import (
	"encoding/binary"
	"errors"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
)

// Limits of what is exchanged of deltas.
const (
	envelopesOnce = 256     // that are taken in together
	maxWants      = 1 << 15 // that are asked for at once, of a context
	maxAsked      = 1 << 18 // in all; the others are left to the next session
	maxWaiting    = 8 << 20 // bytes of what waits for these
	maxFetches    = 256     // how often is asked
	spare         = 256     // envelopes that may be sent without need, where it is not clear what is missing
)

// difference is a context of which the two have something else.
type difference struct {
	id     codec.ContextID
	of     *shared
	report ContextReport
	digest token // of the heads here
	count  uint64
	haves  []codec.EnvelopeID // heads first
	heads  int                // how many of these are heads
	shut   bool               // nothing goes here
	takes  bool               // the peer may not read it: what it has is asked for, and nothing is said

	peer    *peerHas       // nil: it has not named the context
	batch   [][]byte       // has come and is not taken in yet
	size    int            // its bytes
	waiting [][]byte       // for others, those first that are to be taken in first
	asked   map[token]bool // what was asked for
	wants   []token        // what is to be asked for
}

// peerHas is what a peer has of a context.
type peerHas struct {
	digest token
	count  uint64
	haves  []codec.EnvelopeID
	heads  int
	shut   bool
	takes  bool // it says nothing, and asks for what it lacks
}

// both reports whether envelopes of a context go from one to the other.
func (d *difference) both() bool { return d.peer != nil && !d.peer.shut && !d.shut }

// even reports whether both sides say what they have.
func (d *difference) even() bool { return d.both() && !d.takes && !d.peer.takes }

// content brings the contexts that differ level.
func (s *session) content() error {
	if err := s.compare(); err != nil {
		return err
	}
	for again := range 2 {
		if err := s.name(); err != nil || s.settled(again == 0) {
			return err
		}
		var err error
		if again == 0 {
			if err = s.askBelow(); err == nil {
				err = s.push()
			}
		} else {
			err = s.search()
		}
		if err == nil {
			err = s.fetch()
		}
		if err != nil {
			return err
		}
	}
	if err := s.name(); err != nil {
		return err
	}
	s.settled(false)
	return nil
}

// settled notes what is level now, and reports whether all is that can be. Both sides say the same.
func (s *session) settled(first bool) bool {
	all := true
	for _, d := range s.differing {
		d.report.Level = d.peer != nil && d.even() && d.peer.digest == d.digest
		d.report.Unsigned = d.shut || d.peer != nil && d.peer.shut
		d.report.OneWay = d.both() && !d.even()
		all = all && (d.report.Level || !d.both() || !d.even() && !first)
	}
	return all
}

// name exchanges what both have of the contexts that differ. Each side numbers them as it names them.
func (s *session) name() error {
	byID := map[codec.ContextID]*difference{}
	for _, d := range s.differing {
		if err := s.has(d); err != nil {
			return err
		}
		d.peer = nil
		byID[d.id] = d
	}
	s.named = s.named[:0]
	return s.turn(func(put func(kind, []byte) error) error {
		for _, d := range s.differing {
			b := append([]byte{flag(d.shut) | flag(d.takes)<<1}, d.id[:]...)
			b = binary.LittleEndian.AppendUint64(append(b, d.digest[:]...), d.count)
			if err := put(kindContext, appendIDs(append(b, byte(d.heads)), d.haves)); err != nil {
				return err
			}
		}
		return nil
	}, func(_ kind, body []byte) error {
		c := cutter.New("context", body)
		flags := c.U8("flags")
		p := &peerHas{shut: flags&1 != 0, takes: flags&2 != 0}
		id := codec.ContextID(c.Hash("context"))
		p.digest, p.count, p.heads = tokenOf(&c, "digest"), c.U64("count"), int(c.U8("heads"))
		p.haves = hashesOf[codec.EnvelopeID](&c, "haves", maxHaves)
		if err := ended(&c); err != nil {
			return err
		}
		d := byID[id]
		switch {
		case p.heads > len(p.haves):
			return malformed("%d heads, of %d envelopes", p.heads, len(p.haves))
		case len(s.named) == maxDiffering:
			return malformed("more than %d contexts", maxDiffering)
		case d != nil && d.peer != nil:
			return malformed("context %s, named twice", id)
		case d != nil:
			d.peer = p
		}
		s.named = append(s.named, d)
		return nil
	}, kindContext)
}

func flag(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// has finds out what is here of a context.
func (s *session) has(d *difference) error {
	d.digest, d.haves, d.heads, d.count = token{}, nil, 0, 0
	info, err := s.Contexts.Context(d.id)
	if errors.Is(err, dag.ErrNoContext) {
		return nil
	}
	if err != nil {
		return err
	}
	heads, err := s.Content.Heads(s.ctx, d.id)
	if err != nil {
		return err
	}
	d.shut = d.shut || len(heads) == 0 && info.Applied > 0
	if len(heads) == 0 || d.takes {
		return nil
	}
	d.count, d.digest = info.Applied, digestOf(slices.SortedFunc(slices.Values(heads), codec.CompareID))
	all, err := s.Content.Haves(s.ctx, d.id)
	if err != nil {
		return err
	}
	further := all[min(len(heads), len(all)):]
	d.haves = heads[:min(len(heads), maxHeads)]
	if d.heads = len(d.haves); len(heads) > maxHeads {
		d.heads = 0 // who has those that are named may lack others
	}
	d.haves = append(slices.Clone(d.haves), further[:min(len(further), maxHaves-len(d.haves))]...)
	return nil
}

// push sends what the peer lacks, as far as that is clear from what it has.
func (s *session) push() error {
	sends := make([]bool, len(s.differing))
	for i, d := range s.differing {
		var err error
		if sends[i], err = s.isClear(d); err != nil {
			return err
		}
	}
	return s.envelopes(func(i int, put func([]byte) error) error {
		if !sends[i] {
			return nil
		}
		d := s.differing[i]
		return each(s.Content.Since(s.ctx, d.id, d.peer.haves), put)
	})
}

// each calls fn with envelopes.
func each(all iter.Seq2[[]byte, error], fn func([]byte) error) error {
	for b, err := range all {
		if err == nil {
			err = fn(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askBelow asks for what a peer has who may not read, from its heads on.
func (s *session) askBelow() error {
	for _, d := range s.differing {
		if !d.takes || !d.both() {
			continue
		}
		lacks, err := s.Content.Lacks(d.id, d.peer.haves)
		if err != nil {
			return err
		}
		for _, id := range lacks {
			s.want(d, token(id[:16]))
		}
	}
	return nil
}

// isClear reports whether what the peer lacks of a context is clear from what it has: nothing of it, or
// all its heads are here, or there is not much else than what it must lack.
func (s *session) isClear(d *difference) (bool, error) {
	if !d.even() || d.count == 0 {
		return false, nil
	}
	if d.peer.count == 0 {
		return true, nil
	}
	known, err := s.Content.Known(d.id, d.peer.haves[:d.peer.heads])
	if err != nil || d.peer.heads > 0 && known == d.peer.heads {
		return err == nil, err
	}
	most := spare
	if d.count > d.peer.count {
		most += int(min(d.count-d.peer.count, 1<<30)) * 2
	}
	n, err := s.Content.CountSince(s.ctx, d.id, d.peer.haves, most)
	return n < most, err
}

// envelopes sends those that give puts, for each context, and takes in those that come.
func (s *session) envelopes(give func(i int, put func([]byte) error) error) error {
	sent := make([]int, len(s.differing))
	var at *difference // of which something has come that is not taken in
	err := s.turn(func(put func(kind, []byte) error) error {
		for i := range s.differing {
			number := binary.LittleEndian.AppendUint32(nil, uint32(i))
			err := give(i, func(b []byte) error {
				sent[i]++
				return put(kindEnvelope, slices.Concat(number, b))
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, func(_ kind, body []byte) error {
		c := cutter.New("envelope", body)
		number := int(c.U32("number"))
		if c.Err != nil {
			return ended(&c)
		}
		if number >= len(s.named) {
			return malformed("an envelope of context %d, of %d", number, len(s.named))
		}
		d := s.named[number]
		switch {
		case d == nil:
			return malformed("an envelope of a context that was not named here")
		case !d.both():
			return nil // what came before it has closed it
		}
		if at != nil && (at != d || len(d.batch) == envelopesOnce || d.size+len(c.Rest) > bytesOnce) {
			if err := s.takeIn(at); err != nil {
				return err
			}
		}
		at = d
		d.batch, d.size = append(d.batch, c.Rest), d.size+len(c.Rest)
		return nil
	}, kindEnvelope)
	for i, d := range s.differing {
		d.report.Sent += sent[i]
	}
	if at != nil {
		err = s.rest(err, func() error { return s.takeIn(at) })
	}
	return err
}

// takeIn offers what has come of a context.
func (s *session) takeIn(d *difference) error {
	batch := d.batch
	d.batch, d.size = nil, 0
	waiting, err := s.offer(d, batch)
	d.waiting = append(d.waiting, s.keep(d, waiting)...)
	return err
}

// keep keeps what waits, as far as there is room; the rest comes in another session.
func (s *session) keep(d *difference, waiting [][]byte) [][]byte {
	for i, b := range waiting {
		if s.waits += len(b); s.waits > maxWaiting {
			s.waits -= len(b)
			d.report.Waits += len(waiting) - i
			return waiting[:i]
		}
	}
	return waiting
}

// offer offers envelopes, and returns those that wait for others.
func (s *session) offer(d *difference, batch [][]byte) (waiting [][]byte, err error) {
	if len(batch) == 0 || d.shut {
		return nil, nil
	}
	answers, err := s.Content.Offer(s.ctx, d.id, batch)
	if errors.Is(err, content.ErrUnsigned) || errors.Is(err, namespace.ErrNoContext) {
		d.shut = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range answers {
		a := &answers[i]
		if a.Kind == content.Waits && len(a.Parents) > 0 {
			waiting = append(waiting, batch[i])
			for _, p := range a.Parents {
				s.want(d, token(p[:16]))
			}
			continue
		}
		d.report.Add(a)
		if a.Forged {
			s.forged++
		}
	}
	return waiting, s.bears(d.report.Duplicates, d.report.Counts)
}
