package exchange

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/codec/cutter"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// Limits of what is exchanged of governance.
const (
	maxRounds    = 16      // as long as ops go on being made
	maxHeads     = 64      // of heads that are named; more are there, and not named
	maxHaves     = 64 + 64 // of ids by which a side says what it has
	opsOnce      = 512     // ops that are taken in together
	bytesOnce    = 1 << 20 // and their bytes
	maxForged    = 3       // what nobody has signed, before the session ends
	manyRepeated = 100_000 // of what is here, before the session ends
)

// governance brings the namespaces that differ level, as far as that can be.
func (s *session) governance() error {
	open := s.unlevel()
	for round := 0; len(open) > 0 && round < maxRounds; round++ {
		if err := s.states(open, round == 0); err != nil {
			return err
		}
		for _, n := range open {
			own, err := s.Governance.Heads(s.ctx, n.id)
			if err != nil {
				return err
			}
			n.report.Level = digestOf(own) == n.heads
			n.open = !n.report.Level && (round == 0 || n.stored+n.peerStored > 0)
			if round == 0 {
				n.had = len(own) > 0 && len(n.haves) > 0
			}
		}
		if open = s.unlevel(); len(open) == 0 {
			break
		}
		if err := s.ops(open); err != nil {
			return err
		}
	}
	return s.resume()
}

// resume has this node sign again where it has heard from another.
func (s *session) resume() error {
	for _, n := range s.common {
		if n.had && n.report.Level {
			if err := s.Governance.Resume(s.ctx, n.id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) unlevel() (open []*shared) {
	for _, n := range s.common {
		if n.open {
			open = append(open, n)
		}
	}
	return open
}

// states exchanges what both have of the namespaces that are open.
func (s *session) states(open []*shared, first bool) error {
	var states [][]byte
	for _, n := range open {
		state, err := s.state(n, first)
		if err != nil {
			return err
		}
		states = append(states, state)
	}
	next := 0
	err := s.turn(func(put func(kind, []byte) error) error {
		for _, b := range states {
			if err := put(kindState, b); err != nil {
				return err
			}
		}
		return nil
	}, func(_ kind, body []byte) error {
		if next == len(open) {
			return malformed("a state of a namespace that is none of those that differ")
		}
		next++
		return s.takeState(open[next-1], body)
	}, kindState)
	if err == nil && next < len(open) {
		err = malformed("%d states, of %d", next, len(open))
	}
	return err
}

// state is the message about one: who this node is there, and what it has.
func (s *session) state(n *shared, first bool) ([]byte, error) {
	var b []byte
	proof, err := s.proof(n.id)
	switch {
	case err != nil:
		return nil, err
	case first && proof != nil:
		b = append(append(b, 1), proof...)
	default:
		b = append(b, 0)
	}
	b = binary.LittleEndian.AppendUint32(b, n.stored)
	heads, err := s.Governance.Heads(s.ctx, n.id)
	if err != nil {
		return nil, err
	}
	haves, err := s.Governance.Haves(n.id)
	if err != nil {
		return nil, err
	}
	digest := digestOf(heads)
	return appendIDs(append(b, digest[:]...), haves[:min(len(haves), maxHaves)]), nil
}

// proof returns the key of this node in a namespace, and its signature over the session; none without
// an identity.
func (s *session) proof(ns codec.GroupID) ([]byte, error) {
	id, err := s.Governance.ExportIdentity(ns)
	if errors.Is(err, namespace.ErrNoIdentity) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	signature := group.Sign(id.PrivateKey, domainMember, s.claim(s.role(s.o.Initiator), ns, id.PublicKey))
	return append(id.PublicKey[:], signature[:]...), nil
}

// claim is what a member signs: that it is on that side of this session.
func (s *session) claim(role byte, ns codec.GroupID, key codec.Identity) []byte {
	b := append([]byte{role}, s.nonces()...)
	return append(append(b, ns[:]...), key[:]...)
}

// takeState takes the message about one.
func (s *session) takeState(n *shared, body []byte) error {
	c := cutter.New("state", body)
	if c.U8("proof") == 1 {
		key := codec.Identity(c.Hash("key"))
		var signature codec.Signature
		copy(signature[:], c.Take("signature", len(signature)))
		if c.Err == nil {
			if err := group.Verify(key, domainMember, s.claim(s.role(!s.o.Initiator), n.id, key), signature); err != nil {
				return malformed("the proof that it is %s in namespace %s is not signed by that key", key, n.id)
			}
			n.peer, n.proven = key, true
		}
	}
	n.peerStored = c.U32("stored")
	n.heads = tokenOf(&c, "heads")
	n.haves = hashesOf[codec.OpID](&c, "haves", maxHaves)
	return ended(&c)
}

// serving is what a peer is given of a namespace.
type serving struct {
	all  bool
	upTo []codec.OpID // or these ops, with their ancestors: by which it was removed
}

// serves finds out what the peer is given.
func (s *session) serves(n *shared) (v serving, err error) {
	if s.o.Anyone || !n.proven {
		return serving{all: s.o.Anyone}, nil
	}
	groups, err := s.Governance.MemberOf(n.id, n.peer)
	if err == nil && len(groups) == 0 {
		v.upTo, err = s.Governance.Ended(n.id, n.peer)
	}
	v.all = len(groups) > 0
	return v, err
}

// missing yields the ops that the peer lacks, of those that it is given.
func (s *session) missing(n *shared, v *serving) iter.Seq2[namespace.Sent, error] {
	switch {
	case v.all:
		return s.Governance.OpsSince(s.ctx, n.id, n.haves, 0)
	case len(v.upTo) > 0:
		return s.Governance.OpsUpTo(s.ctx, n.id, n.haves, v.upTo)
	}
	return func(func(namespace.Sent, error) bool) {}
}

// ops exchanges the ops that one side has and the other lacks. A peer who is no member is given none,
// but those by which it was removed, and may give some, which may say that it is one.
func (s *session) ops(open []*shared) error {
	serves := make([]serving, len(open))
	for i, n := range open {
		n.stored = 0
		var err error
		if serves[i], err = s.serves(n); err != nil {
			return err
		}
		n.report.Stranger = !serves[i].all
	}
	sent := make([]int, len(open))
	var batch [][]byte
	at, size, last := 0, 0, 0
	flush := func() error {
		err := s.apply(open[at], batch)
		batch, size = batch[:0], 0
		return err
	}
	err := s.turn(func(put func(kind, []byte) error) error {
		for i, n := range open {
			for op, err := range s.missing(n, &serves[i]) {
				if err != nil {
					return err
				}
				if err := put(kindOp, append(binary.LittleEndian.AppendUint32(nil, uint32(i)), op.Wire...)); err != nil {
					return err
				}
				sent[i]++
			}
		}
		return nil
	}, func(_ kind, body []byte) error {
		c := cutter.New("op", body)
		i := int(c.U32("namespace"))
		switch {
		case c.Err != nil:
			return ended(&c)
		case i < last || i >= len(open):
			return malformed("an op of namespace %d, after %d, of %d", i, last, len(open))
		}
		if last = i; len(batch) > 0 && (i != at || len(batch) == opsOnce || size+len(c.Rest) > bytesOnce) {
			if err := flush(); err != nil {
				return err
			}
		}
		at = i
		batch, size = append(batch, c.Rest), size+len(c.Rest)
		return nil
	}, kindOp)
	if len(batch) > 0 {
		err = s.rest(err, flush)
	}
	for i, n := range open {
		n.report.Sent += sent[i]
	}
	return err
}

// rest takes in what came last in a turn that has ended with err: on a line that breaks again and again
// the next session begins behind it.
func (s *session) rest(err error, take func() error) error {
	if err == nil {
		return take()
	}
	defer func(ctx context.Context) { s.ctx = ctx }(s.ctx)
	s.ctx = context.WithoutCancel(s.ctx)
	return cmp.Or(err, take())
}

// apply takes in ops of a namespace.
func (s *session) apply(n *shared, ops [][]byte) error {
	for a, err := range s.Governance.ApplyMany(s.ctx, slices.Values(ops)) {
		if err != nil {
			return err
		}
		before := n.ops.Stored
		n.ops.Count(&a)
		n.stored += uint32(n.ops.Stored - before)
		if a.Refusal != nil && a.Refusal.Reason == namespace.BadSignature {
			s.forged++
		}
	}
	return s.bears(n.ops.Duplicates, n.ops.Stored)
}

// bears returns an error for a peer that has sent too much that nobody has signed, or that is here.
func (s *session) bears(repeated, new int) error {
	switch {
	case s.forged >= maxForged:
		return malformed("%d ops or envelopes that nobody has signed", s.forged)
	case repeated > manyRepeated && repeated > 4*new:
		return malformed("%d of what was here, and %d that were not", repeated, new)
	}
	return nil
}

// met notes with whom this node has the same now.
func (s *session) met() error {
	for _, n := range s.common {
		left := func(d *difference) bool { return d.of == n && !d.report.Settled() }
		if !n.report.Level || slices.ContainsFunc(s.differing, left) {
			continue
		}
		if !n.peer.IsZero() { // of whoever has no part there nothing is kept
			switch groups, err := s.Governance.MemberOf(n.id, n.peer); {
			case err != nil:
				return err
			case len(groups) == 0:
				continue
			}
		}
		err := s.Governance.Meet(n.id, n.peer)
		if err != nil && !errors.Is(err, engine.ErrNoSpace) && !errors.Is(err, engine.ErrReadOnly) { // what was to be exchanged was
			return err
		}
	}
	return nil
}
