// Package content is the deltas of contexts that groups have: which of them count, so that nodes
// with the same ops of governance and the same envelopes have the same state, whatever came first,
// and a member who was removed adds nothing more. README.md has the rules.
package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/envelope"
)

var (
	// ErrUnsigned is returned for what takes signed deltas of a context that has others: no group had
	// it when they were made, or its namespace was of version 1.
	ErrUnsigned = errors.New("content: the context has deltas that nobody has signed")
	// ErrSigned is returned for a delta without an envelope for a context whose deltas are signed.
	ErrSigned = errors.New("content: the deltas of the context are signed: this one has no envelope")
	// ErrNoEnvelope is returned for an envelope that is not here.
	ErrNoEnvelope = errors.New("content: no such envelope")
)

// Options say how a [Store] works. The zero Options are the defaults.
type Options struct {
	MaxHeld      int          // the most envelopes of a context that are set aside; 0: 4,096
	MaxHeldBytes int64        // and the most bytes that they take; 0: 16 MiB. One author has an eighth of both.
	Log          *slog.Logger // what is set aside and comes back; nil: nothing
}

// Store is the signed deltas of the contexts of an engine. There is one at a time. Any number of
// goroutines may use it at once.
type Store struct {
	db  engine.Engine
	dag *dag.Store
	gov *namespace.Store
	o   Options

	verifier group.Verifier

	mu       sync.Mutex
	contexts map[codec.ContextID]*state
	looked   map[codec.GroupID][]codec.OpID // the heads by which all contexts of a namespace were last judged
	again    map[codec.ContextID]bool       // and which are to be judged by them again: a call has failed
}

// keptContexts is about how many contexts are kept in mind, each with what is set aside there.
const keptContexts = 64

// New returns the store of what is in db, of whose contexts contexts are the deltas, and ops the
// governance. All three must outlive it.
func New(db engine.Engine, contexts *dag.Store, ops *namespace.Store, o Options) *Store {
	o.MaxHeld, o.MaxHeldBytes = cmp.Or(o.MaxHeld, 4096), cmp.Or(o.MaxHeldBytes, 16<<20)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{db: db, dag: contexts, gov: ops, o: o, contexts: map[codec.ContextID]*state{},
		looked: map[codec.GroupID][]codec.OpID{}, again: map[codec.ContextID]bool{}}
}

// state is what is kept in mind of a context. Whoever writes or looks at it holds mu.
type state struct {
	mu     sync.Mutex
	users  int // guarded by Store.mu
	s      *Store
	id     codec.ContextID
	loaded bool
	full   codec.EnvelopeID            // what was dropped last, to make room
	doubts int                         // how many envelopes nobody vouches for, or are set aside, as of the last judgement
	cuts   map[cutID][]codec.OpID      // at which deltas that count were made, by now or before
	held   map[codec.EnvelopeID]*held  // what is set aside
	seen   []codec.OpID                // the heads of governance by which the context was last judged
	ns     codec.GroupID               // of its group
	keys   map[codec.OpID]codec.Secret // by which envelopes are rebuilt, as they were last asked for
}

// in calls fn while nothing else looks at a context, of which is known here what is to be known.
func (s *Store) in(id codec.ContextID, fn func(*state) error) error {
	s.mu.Lock()
	c := s.contexts[id]
	if c == nil {
		if len(s.contexts) >= keptContexts {
			for other, one := range s.contexts {
				if one.users == 0 {
					delete(s.contexts, other)
					break
				}
			}
		}
		c = &state{s: s, id: id}
		s.contexts[id] = c
	}
	c.users++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.users--
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return err
	}
	err := fn(c)
	if err != nil {
		c.loaded = false // what is in memory may be half done, and what is on disk not judged
		s.lookAgain(id)
	}
	return err
}

// load reads what is to be known of the context.
func (c *state) load() (err error) {
	if _, c.ns, err = c.s.gov.Resolve(c.id); err != nil {
		return err
	}
	if c.loaded {
		return nil
	}
	c.seen = nil
	if c.cuts, err = readCuts(c.s.db, c.id); err != nil {
		return err
	}
	if c.held, err = readHeld(c.s.db, c.id); err != nil {
		return err
	}
	c.loaded = true
	return nil
}

// isSigned reports whether the deltas of the context have envelopes.
func (c *state) isSigned() bool { return len(c.cuts)+len(c.held) > 0 }

// begins returns ErrUnsigned unless the context has no deltas, or signed ones.
func (c *state) begins() error {
	if c.isSigned() {
		return c.topped()
	}
	if err := c.s.dag.Begin(c.id); err != nil {
		return err
	}
	info, err := c.s.dag.Context(c.id)
	if err != nil {
		return err
	}
	if info.Applied > 0 || info.Pending > 0 {
		return fmt.Errorf("%w: %s", ErrUnsigned, c.id)
	}
	return nil
}

// topped returns ErrUnsigned where a head of the context has no envelope.
func (c *state) topped() error {
	heads, _, err := c.s.dag.Heads(c.id)
	for _, h := range heads {
		if _, err := c.signedOf(h.ID); err != nil {
			return err
		}
	}
	return err
}

// signedOf returns the envelope of a delta that counts. It returns ErrUnsigned for one that has none:
// it was made while no group had the context.
func (c *state) signedOf(delta codec.DeltaID) (signed, error) {
	v, found, err := readSigned(c.s.db, c.id, delta)
	if err == nil && !found {
		err = fmt.Errorf("%w: %s: delta %s, made while no group had it", ErrUnsigned, c.id, delta)
	}
	return v, err
}

// Unsigned returns [ErrSigned] for a context that takes no delta without an envelope: one whose deltas
// have some, which none has that no group has.
func (s *Store) Unsigned(id codec.ContextID) error {
	err := s.in(id, func(c *state) error {
		if c.isSigned() {
			return fmt.Errorf("%w: context %s", ErrSigned, id)
		}
		return nil
	})
	if errors.Is(err, namespace.ErrNoContext) {
		return nil
	}
	return err
}

// Delete is [dag.Store.DeleteContext], with the envelopes of its deltas.
func (s *Store) Delete(id codec.ContextID) error {
	err := s.in(id, func(c *state) error {
		c.loaded = false
		return s.dag.DeleteContext(id, func(b *engine.Batch) {
			for _, prefix := range [][]byte{prefixOf(signedScope, id), prefixOf(envelopeScope, id), prefixOf(heldScope, id),
				cutKey(headsRow, id), cutKey(memberRow, id)} {
				b.DeleteRange(column.Generic, prefix, engine.Successor(prefix))
			}
		})
	})
	if errors.Is(err, namespace.ErrNoContext) {
		return s.dag.DeleteContext(id)
	}
	return err
}

// look judges the context anew if there are other ops than when it was last judged.
func (c *state) look(ctx context.Context) error {
	if c.s.dag.IsView() {
		return nil // nothing can be set aside
	}
	heads, err := c.s.gov.Heads(ctx, c.ns)
	if err != nil || slices.Equal(heads, c.seen) {
		return err
	}
	if err := c.judge(ctx); err != nil {
		return err
	}
	c.seen = heads
	return nil
}

// Look judges a context by the ops that are here: what its authors might not write is set aside, and
// what they might comes back. Every call that changes a context or its governance begins with it or
// is to be followed by it.
func (s *Store) Look(ctx context.Context, id codec.ContextID) error {
	return s.in(id, func(c *state) error { return c.look(ctx) })
}

// key returns the key of an envelope's group.
func (c *state) key(v *codec.DeltaEnvelope) (key codec.Secret, err error) {
	if key, has := c.keys[v.KeyOp]; has {
		return key, nil
	}
	a, err := c.s.gov.Origins(c.ns, []namespace.Origin{originOf(v)})
	switch {
	case err != nil:
		return key, err
	case a[0].Kind != namespace.OriginAllowed:
		return key, fmt.Errorf("content: the key of context %s that op %s introduces is not here", c.id, v.KeyOp)
	}
	if len(c.keys) > 64 || c.keys == nil {
		c.keys = map[codec.OpID]codec.Secret{}
	}
	c.keys[v.KeyOp] = a[0].Key
	return a[0].Key, nil
}

// originOf returns where the delta of an envelope comes from.
func originOf(v *codec.DeltaEnvelope) namespace.Origin {
	return namespace.Origin{Context: v.ContextID, Author: v.Author, Cut: v.Cut, KeyOp: v.KeyOp}
}

// rebuild returns the envelope of a delta that counts.
func (c *state) rebuild(v *signed, d *dag.Delta) (*envelope.Envelope, error) {
	key, err := c.key(&v.DeltaEnvelope)
	if err != nil {
		return nil, err
	}
	e, err := envelope.Rebuild(d, v.DeltaEnvelope, key)
	if err == nil && e.ID != v.id {
		err = damage(rowKey(envelopeScope, c.id, v.id), "its delta makes another envelope, "+e.ID.String())
	}
	return e, err
}
