package dag

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
)

// AddOptions say how a delta is added. The zero AddOptions are the defaults.
type AddOptions struct {
	Claimed    codec.DeltaID     // the id that the delta was offered as: another one is refused; zero: none
	Durability engine.Durability // of what is written; the zero Durability is the strongest
	Beside     Beside            // what goes into the batch that applies it
}

// Beside puts what belongs to a delta into the batch that applies it, or takes it away; the delta is
// only lent. It may be called more than once, and is not to call the store. An error ends the call that
// it is given to, and nothing is written. A delta that has it does not wait: where a parent is not
// applied, nothing is kept.
type Beside func(d *Delta, id codec.DeltaID, b *engine.Batch) error

// Offer is a delta among many.
type Offer struct {
	Delta   *Delta
	Claimed codec.DeltaID // as in AddOptions
	Beside  Beside
}

// Add takes a delta in, and with it those that have waited for it. What becomes of
// it is the Answer; an error says that it could not be judged and that nothing of
// it is kept: [ErrNoContext], [ErrAdopting], [ErrClosed], engine.ErrCorrupt, an
// error of the engine, or that of ctx, which is looked at until its turn comes.
//
// All that a delta changes is written in one batch. A cascade of many may take
// several; those that are left over, if the process ends between them, are applied
// when the store is opened again. The delta is not kept and may be used again.
func (s *Store) Add(ctx context.Context, d *Delta, o AddOptions) (Answer, error) {
	if err := ready(ctx, o.Durability); err != nil {
		return Answer{}, err
	}
	a := adding{s: s}
	defer a.free()
	if !a.begin(&Offer{d, o.Claimed, o.Beside}, o.Durability) {
		return a.answer, nil
	}
	for {
		if err := s.submit(ctx, d.Context, &a.request); err != nil {
			return Answer{}, err
		}
		if a.request.Err != nil || !a.answer.Verifying || o.Beside == nil {
			return a.answer, a.request.Err
		}
		// It does not wait for the background, so this does.
		root, err := s.cutOf(ctx, d.Context, func(*writeGroup) (*candidate, error) { return &candidate{p: a.p}, nil })
		if err != nil && !errors.Is(err, ErrNoDelta) { // a parent is gone
			return Answer{}, err
		}
		if a.verified = nil; err == nil {
			a.verified = &root
		}
	}
}

// ready returns why a write is not to begin.
func ready(ctx context.Context, d engine.Durability) error {
	if !d.Valid() {
		return fmt.Errorf("dag: %w: %s", engine.ErrBatch, d)
	}
	return ctx.Err()
}

// AddMany is Add for each of the offers, in order; deltas of one context that
// follow each other are written together, up to some hundred with one batch. It
// returns the answers to those before the first error, and that.
func (s *Store) AddMany(ctx context.Context, offers []Offer, durability engine.Durability) ([]Answer, error) {
	answers := make([]Answer, 0, len(offers))
	for len(offers) > 0 {
		if err := ready(ctx, durability); err != nil {
			return answers, err
		}
		n := 1
		for n < len(offers) && n < maxGroup && offers[n].Delta.Context == offers[0].Delta.Context {
			n++
		}
		var err error
		if answers, err = s.addRun(ctx, answers, offers[:n], durability); err != nil {
			return answers, err
		}
		offers = offers[n:]
	}
	return answers, nil
}

// addRun adds deltas of one context, and appends the answers.
func (s *Store) addRun(ctx context.Context, answers []Answer, offers []Offer, durability engine.Durability) ([]Answer, error) {
	run := make([]adding, len(offers))
	var requests []*request
	for i := range run {
		a := &run[i]
		a.s = s
		defer a.free()
		if a.begin(&offers[i], durability) {
			requests = append(requests, &a.request)
		}
	}
	if len(requests) > 0 {
		if err := s.submit(ctx, offers[0].Delta.Context, requests...); err != nil {
			return answers, err
		}
	}
	for i := range run {
		if err := run[i].request.Err; err != nil {
			return answers, err
		}
		answers = append(answers, run[i].answer)
	}
	return answers, nil
}

// adding is a delta on its way.
type adding struct {
	request request
	s       *Store
	p       *prepared
	answer  Answer

	beside   Beside
	verified *codec.Hash // the root of its causal cut, if it is known
}

// begin does what can be done without the context, and reports whether there is
// more to do.
func (a *adding) begin(o *Offer, durability engine.Durability) bool {
	d, claimed := o.Delta, o.Claimed
	a.p, a.beside = prepare(d), o.Beside
	id := a.p.id
	a.answer.ID = id
	refusal := a.p.refusal
	if refusal == nil && !claimed.IsZero() && claimed != id {
		refusal = &Refusal{Delta: id, Reason: BadID, Detail: fmt.Sprintf("it was offered as %s", claimed)}
	}
	if refusal != nil {
		a.answer.Kind, a.answer.Refusal = Refused, refusal
		return false
	}
	if early := a.s.early(d.HLC); early != nil {
		a.answer.Kind, a.answer.RetryAfter = TooEarly, early.RetryAfter
		return false
	}
	a.request.Task.synced = durability == engine.Synced
	a.request.Task.do = func(g *writeGroup) error {
		a.answer = Answer{ID: id}
		return g.add(a)
	}
	return true
}

// early returns why a stamp can't be accepted yet, or nil.
func (s *Store) early(t codec.HybridTimestamp) *hlc.Early {
	var early *hlc.Early
	errors.As(s.clock.Check(t), &early)
	return early
}

// Early returns for how long a stamp can't be accepted yet; 0: it can.
func (s *Store) Early(t codec.HybridTimestamp) time.Duration {
	if early := s.early(t); early != nil {
		return early.RetryAfter
	}
	return 0
}

func (a *adding) free() {
	if a.p != nil {
		a.p.release()
	}
}

// add judges a delta that is not known to wait, and does what follows from it.
func (g *writeGroup) add(adding *adding) error {
	p, a := adding.p, &adding.answer
	defer func() { a.Root = g.c.trie.Root() }()
	known, err := g.known(p, a)
	if known || err != nil {
		return err
	}
	x := candidate{p: p, beside: adding.beside}
	if err := g.judge(&x, a, adding.verified); err != nil {
		return err
	}
	return g.drain()
}

// known reports whether a delta was here before, and answers it.
func (g *writeGroup) known(p *prepared, a *Answer) (bool, error) {
	c := g.c
	if !c.onHeads(p.d.Parents) { // what is on top of the heads is not applied
		_, applied, err := readSeq(&g.view, &c.id, &p.id)
		if err != nil {
			return false, err
		}
		if applied {
			a.Kind = Duplicate
			return true, nil
		}
	}
	if c.waiting > 0 {
		g.key = pendingKey(g.key[:0], indexRow, &c.id, &p.id)
		waits, err := g.view.has(g.key)
		if err != nil {
			return false, err
		}
		if waits {
			a.Kind = Duplicate
			return true, nil
		}
	}
	r, err := g.refusal(&p.id)
	if r != nil {
		a.Kind, a.Refusal = Refused, r
	}
	return r != nil, err
}

// onHeads reports whether parents are exactly the heads.
func (c *loaded) onHeads(parents []codec.DeltaID) bool {
	if len(parents) != c.heads.len() {
		return false
	}
	for i := range parents { // none is there twice
		if _, is := c.heads.get(&parents[i]); !is {
			return false
		}
	}
	return true
}
