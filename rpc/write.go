package rpc

import (
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Apply is engine.Writer's. The daemon checks every row against the schema: it
// returns *keys.Error or *codec.Error for one that may not be written, and
// writes nothing. After ErrUnavailable or the end of the context the batch may
// or may not have been written.
func (c *Client) Apply(b *engine.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	ask := &stoav1.ApplyRequest{Ops: b.Bytes(), Expectations: b.Expectations(), Durability: op.Durability(b.Durability)}
	return c.unary(c.ctx, &storeApply.Method, ask, new(stoav1.ApplyResponse))
}
