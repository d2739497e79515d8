package rpc

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// dagCommitting are the arguments of Commit.
type dagCommitting struct{ dag.Commit }

// AboutContext returns the context.
func (a *dagCommitting) AboutContext() codec.ContextID { return a.Context }

var dagCommit = op.New(op.Method{Number: 613, Name: "Dag.Commit", Role: access.Signer},
	func(ctx context.Context, s *backend.Contexts, a *dagCommitting) (content.Committed, error) {
		return s.Commit(ctx, a.Commit)
	})

// Commit makes a delta of an execution, on top of all heads, and applies it, all in
// one batch; see [content.Store.Commit]. After ErrUnavailable or the end of ctx the delta
// may or may not have been made: read the heads before committing again.
func (d *Dag) Commit(ctx context.Context, c dag.Commit) (content.Committed, error) {
	for i := range c.Events {
		if err := checkEvent(&c.Events[i]); err != nil {
			return content.Committed{}, err
		}
	}
	return call(ctx, d.c, dagCommit, dagCommitting{c})
}

// checkEvent returns what the bytes of an event are wrong in: a protobuf string
// can't carry everything that a Go string can.
func checkEvent(e *codec.Event) error {
	_, err := e.AppendBinary(nil)
	return err
}
