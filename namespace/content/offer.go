package content

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/envelope"
)

// AnswerKind is what became of an envelope that was offered. The zero AnswerKind is none. The numbers
// are sent: they do not change.
type AnswerKind uint8

// The kinds of answers.
const (
	Counts    AnswerKind = 1 + iota // its delta is part of the state
	SetAside                        // its author may not write any more, and nobody who may has built on it
	Duplicate                       // it is here
	Waits                           // what it needs is not here, and nothing is kept: offer it again after that
	TooEarly                        // its stamp is too far ahead of the clock: nothing is kept, offer it again
	Refused                         // it is wrong, here and on every other node
	NoRoom                          // it is to be set aside, and too much of its author is: nothing is kept
)

var answerKinds = []string{"counts", "set_aside", "duplicate", "waits", "early", "refused", "no_room"}

// String returns the kind as messages and tables spell it.
func (k AnswerKind) String() string {
	if k < Counts || k > NoRoom {
		return fmt.Sprintf("AnswerKind(%d)", uint8(k))
	}
	return answerKinds[k-1]
}

// Answer is what became of an envelope.
type Answer struct {
	Kind       AnswerKind
	ID         codec.EnvelopeID
	Delta      codec.DeltaID      // where it was opened
	Parents    []codec.EnvelopeID // Waits: those that are not here
	Ops        []codec.OpID       // Waits: ops of governance that are not here. Neither: a key is not, or the context
	RetryAfter time.Duration      // TooEarly
	Reason     string             // Refused
	Forged     bool               // Refused: for its form or its signature, which who sent it could have seen
}

// arrival is an envelope on its way.
type arrival struct {
	*envelope.Envelope
	answer *Answer
	fault  error // by which it is refused
	delta  *dag.Delta
	stands bool
}

// Offer takes in envelopes of one context, in order, parents first. What becomes of each is its
// answer; an error says that the others could not be judged, and that nothing of them is kept. It
// returns namespace.ErrNoContext for a context that no group here has, [ErrUnsigned], or the error of
// a store.
func (s *Store) Offer(ctx context.Context, id codec.ContextID, envelopes [][]byte) ([]Answer, error) {
	answers := make([]Answer, len(envelopes))
	err := s.in(id, func(c *state) error {
		if err := c.begins(); err != nil {
			return err
		}
		if err := c.look(ctx); err != nil {
			return err
		}
		arrivals := make([]*arrival, 0, len(envelopes))
		for i := range envelopes {
			arrivals = append(arrivals, &arrival{answer: &answers[i]})
		}
		namespace.SideBySide(len(envelopes), func(i int) { arrivals[i].check(&s.verifier, id, envelopes[i]) })
		return c.offer(ctx, arrivals)
	})
	return answers, err
}

// check does what the bytes suffice for.
func (a *arrival) check(v *group.Verifier, context codec.ContextID, b []byte) {
	e, err := envelope.Parse(b)
	if err == nil {
		a.answer.ID = e.ID
		if e.ContextID != context {
			err = fmt.Errorf("%w: of another context", envelope.ErrMalformed)
		} else {
			err = e.Verify(v)
		}
	}
	a.Envelope, a.fault = e, err
}

func (a *arrival) refuse(reason string) { a.answer.Kind, a.answer.Reason = Refused, reason }

// offer judges arrivals.
func (c *state) offer(ctx context.Context, arrivals []*arrival) error {
	if err := c.open(arrivals); err != nil {
		return err
	}
	var run []*arrival // to be added together
	fresh := map[codec.EnvelopeID]*arrival{}
	flush := func() error {
		err := c.addRun(ctx, run)
		run = run[:0]
		clear(fresh)
		return err
	}
	for _, a := range arrivals {
		if a.answer.Kind != 0 {
			continue
		}
		if fresh[a.ID] != nil {
			a.answer.Kind = Duplicate
			continue
		}
		simple, err := c.place(a, fresh)
		if err != nil {
			return err
		}
		if a.answer.Kind != 0 {
			continue
		}
		if simple {
			run, fresh[a.ID] = append(run, a), a
			if len(run) < maxRun {
				continue
			}
		}
		if err := flush(); err != nil {
			return err
		}
		if simple {
			continue
		}
		if _, err := c.place(a, fresh); err != nil { // what it stands on may have been refused
			return err
		}
		if a.answer.Kind == 0 {
			if err := c.keep(ctx, a); err != nil {
				return err
			}
		}
	}
	return flush()
}

// maxRun is how many deltas are added at once.
const maxRun = 256

// open asks governance about arrivals, and opens them.
func (c *state) open(arrivals []*arrival) error {
	var asked []*arrival
	var origins []namespace.Origin
	for _, a := range arrivals {
		switch known, err := c.isHere(a); {
		case err != nil:
			return err
		case a.fault != nil:
			a.answer.Forged = true
			a.refuse(a.fault.Error())
		case known:
			a.answer.Kind = Duplicate
		default:
			asked, origins = append(asked, a), append(origins, originOf(&a.DeltaEnvelope))
		}
	}
	if len(asked) == 0 {
		return nil
	}
	admissions, err := c.s.gov.Origins(c.ns, origins)
	if err != nil {
		return err
	}
	var permits []namespace.Permit
	for i := range admissions {
		permits = append(permits, admissions[i].Permit)
	}
	stand, err := c.s.gov.Standing(c.ns, permits)
	if err != nil {
		return err
	}
	namespace.SideBySide(len(asked), func(i int) {
		a := asked[i]
		switch a.stands = stand[i]; admissions[i].Kind {
		case namespace.OriginRefused:
			a.refuse(admissions[i].Reason)
		case namespace.OriginWaits:
			a.answer.Kind, a.answer.Ops = Waits, admissions[i].Missing
		default:
			d, err := a.Open(admissions[i].Key)
			if err != nil {
				a.refuse(err.Error())
				return
			}
			a.delta, a.answer.Delta = d, d.ID()
		}
	})
	return nil
}

// isHere reports whether an envelope that parses is.
func (c *state) isHere(a *arrival) (bool, error) {
	if a.Envelope == nil || a.fault != nil && errors.Is(a.fault, envelope.ErrMalformed) {
		return false, nil
	}
	return c.has(a.ID)
}

// has reports whether an envelope is here, counting or set aside.
func (c *state) has(id codec.EnvelopeID) (bool, error) {
	if c.held[id] != nil {
		return true, nil
	}
	_, found, err := DeltaOf(c.s.db, c.id, id)
	return found, err
}

// place looks at the parents of an arrival. simple says that it counts, as all that it descends from
// does.
func (c *state) place(a *arrival, fresh map[codec.EnvelopeID]*arrival) (simple bool, err error) {
	simple = a.stands
	var parents []codec.DeltaID
	var cuts []codec.OpID
	for _, id := range a.Parents {
		var v *codec.DeltaEnvelope
		switch f, h := fresh[id], c.held[id]; {
		case f != nil:
			v, parents = &f.DeltaEnvelope, append(parents, f.answer.Delta)
		case h != nil:
			v, parents = &h.DeltaEnvelope, append(parents, h.delta)
			simple = false
		default:
			delta, found, err := DeltaOf(c.s.db, c.id, id)
			if err != nil {
				return false, err
			}
			if !found {
				a.answer.Parents = append(a.answer.Parents, id)
				continue
			}
			s, err := c.signedOf(delta)
			if err != nil {
				return false, err
			}
			v, parents = &s.DeltaEnvelope, append(parents, delta)
		}
		if !slices.Equal(v.Cut, a.Cut) {
			cuts = append(cuts, v.Cut...)
		}
	}
	if len(a.answer.Parents) > 0 {
		a.answer.Kind = Waits
		return false, nil
	}
	slices.SortFunc(parents, codec.CompareID)
	if !slices.Equal(parents, a.delta.Parents) {
		a.refuse("its parents are not the deltas in the envelopes that it names")
		return false, nil
	}
	if len(cuts) > 0 {
		has, err := c.s.gov.Includes(c.ns, a.Cut, cuts)
		if err != nil {
			return false, err
		}
		if !has {
			a.refuse("its author knew less of governance than the author of one of its parents")
		}
	}
	return simple, nil
}

// add has deltas applied, with their envelopes beside them, and returns what package dag says.
func (c *state) add(ctx context.Context, run []*arrival) ([]dag.Answer, error) {
	offers := make([]dag.Offer, len(run))
	for i, a := range run {
		offers[i] = dag.Offer{Delta: a.delta, Beside: func(d *dag.Delta, id codec.DeltaID, b *engine.Batch) error {
			return c.beside(b, a.Envelope, d, id)
		}}
	}
	answers, err := c.s.dag.AddMany(ctx, offers, engine.Synced)
	for i := range answers {
		if err == nil && answers[i].Verifying { // its cut takes long
			answers[i], err = c.s.dag.Add(ctx, run[i].delta, dag.AddOptions{Beside: offers[i].Beside})
		}
		if err == nil && answers[i].Kind == dag.Applied {
			c.cuts[idOfCut(run[i].Cut)] = run[i].Cut
		}
	}
	return answers, err
}

// beside puts the rows of an envelope beside its delta.
func (c *state) beside(b *engine.Batch, e *envelope.Envelope, d *dag.Delta, id codec.DeltaID) error {
	row, err := appendSigned(nil, e, d.HLC.Time)
	if err != nil {
		return err
	}
	cut := idOfCut(e.Cut)
	b.Put(column.Generic, rowKey(signedScope, c.id, id), row)
	b.Put(column.Generic, rowKey(envelopeScope, c.id, e.ID), id[:])
	b.Put(column.Generic, memberKey(c.id, cut, e.ID), nil)
	if c.cuts[cut] == nil {
		putHeads(b, c.id, cut, e.Cut)
	}
	b.Delete(column.Generic, rowKey(heldScope, c.id, e.ID))
	return nil
}

// addRun adds deltas that count, and judges the context anew where that may change what else does.
func (c *state) addRun(ctx context.Context, run []*arrival) error {
	if len(run) == 0 {
		return nil
	}
	before := len(c.cuts)
	answers, err := c.add(ctx, run)
	if err != nil {
		return err
	}
	for i, a := range run {
		a.become(&answers[i])
	}
	return c.grown(ctx, before)
}

// grown judges the context anew where what was added may change what counts: there is a cut that
// there was not, or somebody vouches for what nobody has.
func (c *state) grown(ctx context.Context, cuts int) error {
	if len(c.cuts) > cuts || c.doubts > 0 {
		return c.judge(ctx)
	}
	return nil
}

// become makes what package dag says of a delta the answer to its envelope.
func (a *arrival) become(d *dag.Answer) {
	switch d.Kind {
	case dag.Applied:
		a.answer.Kind = Counts
	case dag.Duplicate:
		a.answer.Kind = Duplicate
	case dag.TooEarly:
		a.answer.Kind, a.answer.RetryAfter = TooEarly, d.RetryAfter
	case dag.Refused:
		a.refuse(d.Refusal.Error())
	default: // a parent that was offered with it does not count
		a.answer.Kind = Waits
		a.answer.Parents = slices.Clone(a.Parents)
	}
}

// keep takes an envelope in as one that is set aside, and judges the context anew: so it counts if it
// is to, and with it what it vouches for.
func (c *state) keep(ctx context.Context, a *arrival) error {
	if early := c.s.dag.Early(a.delta.HLC); early > 0 {
		a.answer.Kind, a.answer.RetryAfter = TooEarly, early
		return nil
	}
	h := &held{a.Envelope, a.answer.Delta, a.delta.HLC.Time}
	var b engine.Batch
	b.Put(column.Generic, rowKey(heldScope, c.id, h.ID), appendHeld(nil, h))
	if err := c.s.db.Apply(&b); err != nil {
		return err
	}
	c.held[h.ID] = h
	if err := c.judge(ctx); err != nil {
		return err
	}
	counts, err := c.isHere(a)
	switch {
	case err != nil:
		return err
	case c.held[h.ID] != nil:
		a.answer.Kind = SetAside
	case counts:
		a.answer.Kind = Counts
	case c.full == h.ID:
		a.answer.Kind = NoRoom
	default:
		a.refuse("its root, or its time, is not what the deltas before it make, or that of one of them is not")
	}
	return nil
}
