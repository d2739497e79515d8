// Package backend is what does the operations of services that are no package of the
// domain: [Daemon] those of Admin, and [Contexts] those of Dag, which need more than their
// store. Package server makes them, the operations of package rpc call them.
package backend

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace/content"
)

// Contexts does the operations of the Dag service.
type Contexts struct {
	*dag.Store
	Content *content.Store                               // nil: no context has a group
	Bare    func(context.Context, codec.ContextID) error // whether a delta without an envelope may be added
	NewKey  func() (codec.ContextID, error)              // makes the key of a new context; nil: there are none
	Scratch func() (engine.Engine, func() error, error)  // as [dag.VerifyOptions] has it
}

// Commit makes a delta, signed where a group has the context.
func (c *Contexts) Commit(ctx context.Context, what dag.Commit) (content.Committed, error) {
	if c.Content != nil {
		return c.Content.Commit(ctx, what)
	}
	done, err := c.Store.Commit(ctx, what)
	return content.Committed{Committed: done}, err
}

// DeleteContext removes a context.
func (c *Contexts) DeleteContext(id codec.ContextID) error {
	if c.Content != nil {
		return c.Content.Delete(id)
	}
	return c.Store.DeleteContext(id)
}

// Author returns who has signed a delta that counts; zero where nobody has.
func (c *Contexts) Author(id codec.ContextID, delta codec.DeltaID) (codec.Identity, error) {
	if c.Content == nil {
		return codec.Identity{}, nil
	}
	return c.Content.Author(id, delta)
}
