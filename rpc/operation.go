package rpc

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// calling is a client as other packages make operations by it; see [caller.Caller].
type calling Client

func (c *calling) Unary(ctx context.Context, m *op.Method, ask, answer any) error {
	return (*Client)(c).unary(ctx, m, ask, answer)
}

func (c *calling) Open(ctx context.Context, m *op.Method, req proto.Message) (op.Receiver, error) {
	s, err := c.carrier.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, m.Full())
	if err == nil {
		err = s.SendMsg(req)
	}
	if err == nil {
		err = s.CloseSend()
	}
	return s, err
}

func (c *calling) Failed(m *op.Method, err error) error { return (*Client)(c).failed(m.Name, err) }

// call makes an operation by the client.
func call[S, In, Out any](ctx context.Context, c *Client, o *op.Unary[S, In, Out], in In) (Out, error) {
	return caller.Call(ctx, (*calling)(c), o, in)
}

// change is call for a change that may have guards, which a daemon that is older than they
// would not look at: of such a one it is engine.ErrUnsupported.
func change[S, In, Out any, A interface {
	*In
	op.Guarded
}](ctx context.Context, c *Client, o *op.Unary[S, In, Out], in In) (out Out, err error) {
	if len(A(&in).LockGuards()) > 0 {
		if err := c.guards(ctx); err != nil {
			return out, err
		}
	}
	return call(ctx, c, o, in)
}

// guards returns an error unless the daemon knows guards of changes.
func (c *Client) guards(ctx context.Context) error {
	if c.guarded.Load() {
		return nil
	}
	s, err := c.Status(ctx)
	switch {
	case err != nil:
		return err
	case !slices.Contains(s.GetFeatures(), "lock"):
		return fmt.Errorf("%w: guards of changes: the daemon at %s has no locks", engine.ErrUnsupported, c.path)
	}
	c.guarded.Store(true)
	return nil
}

// streamed makes an operation by the client that has many answers.
func streamed[S, In, Item any](ctx context.Context, c *Client, o *op.Stream[S, In, Item], in In) iter.Seq2[Item, error] {
	return caller.Stream(ctx, (*calling)(c), o, in)
}
