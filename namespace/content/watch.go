package content

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/namespace"
)

// changes are the namespaces that have changed since they were last looked at.
type changes struct {
	mu     sync.Mutex
	of     map[codec.GroupID]bool
	signal chan struct{}
}

func (c *changes) add(ns codec.GroupID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[ns] = true
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

func (c *changes) take() map[codec.GroupID]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.of
	c.of = map[codec.GroupID]bool{}
	return taken
}

// Run looks at all contexts, and then at those of each namespace that gets ops, until ctx ends: so what
// governance says of their deltas is so soon after it is known here. There is one at a time.
func (s *Store) Run(ctx context.Context) {
	c := &changes{of: map[codec.GroupID]bool{}, signal: make(chan struct{}, 1)}
	s.gov.OnChange(c.add)
	defer s.gov.OnChange(nil)
	all, err := s.gov.Namespaces(codec.GroupID{}, 0)
	if err != nil {
		s.o.Log.Error("the contexts of namespaces could not be looked at", "error", err)
	}
	for _, ns := range all {
		c.add(ns)
	}
	for {
		for ns := range c.take() {
			err := s.LookAll(ctx, ns)
			if err != nil && ctx.Err() == nil && !errors.Is(err, namespace.ErrNoNamespace) {
				s.o.Log.Error("the contexts of a namespace could not be looked at", "namespace", ns, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-c.signal:
		}
	}
}

// LookAll is [Store.Look] at all contexts of a namespace; where that was done by the same ops, at those
// of which a call has failed since. One that fails does not keep it from the others; it returns the
// first error.
func (s *Store) LookAll(ctx context.Context, ns codec.GroupID) error {
	heads, err := s.gov.Heads(ctx, ns)
	if err != nil {
		return err
	}
	var failed error
	look := func(id codec.ContextID) error {
		if err := s.Look(ctx, id); err != nil && failed == nil && !errors.Is(err, dag.ErrNoContext) && !errors.Is(err, namespace.ErrNoContext) {
			failed = err
		}
		return ctx.Err()
	}
	if again, done := s.lookedBy(ns, heads); done {
		for id := range again {
			err = look(id) // what fails is looked at again the next time
		}
		return errors.Join(err, failed)
	}
	if err := errors.Join(s.eachContext(ns, look), failed); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked[ns] = heads
	return nil
}

// lookedBy reports whether all contexts of a namespace were judged by some heads of governance, and takes
// those that are to be judged again, of any namespace.
func (s *Store) lookedBy(ns codec.GroupID, heads []codec.OpID) (again map[codec.ContextID]bool, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done = slices.Equal(heads, s.looked[ns]); done {
		again, s.again = s.again, map[codec.ContextID]bool{}
	}
	return again, done
}

// lookAgain has a context be judged again where all are.
func (s *Store) lookAgain(id codec.ContextID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again[id] = true
}

// eachContext calls fn with the contexts of the groups of a namespace.
func (s *Store) eachContext(ns codec.GroupID, fn func(codec.ContextID) error) error {
	tree, err := s.gov.Tree(ns)
	if err != nil {
		return err
	}
	for _, g := range tree {
		contexts, err := s.gov.Contexts(g.ID, codec.ContextID{}, 0)
		if err != nil {
			return err
		}
		for _, c := range contexts {
			if err := fn(c.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
