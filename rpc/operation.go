package rpc

import (
	"context"
	"errors"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/internal/op"
)

// call makes an operation by the client.
func call[S, In, Out any](ctx context.Context, c *Client, o *op.Unary[S, In, Out], in In) (Out, error) {
	out, err := o.Call(&in, func(req, res any) error { return c.unary(ctx, &o.Method, req, res) })
	return out, senseless(&o.Method, err)
}

// stream makes an operation by the client.
func stream[S, In, Item any](ctx context.Context, c *Client, o *op.Stream[S, In, Item], in In) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		open := func(req proto.Message) (op.Receiver, error) {
			s, err := c.carrier.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, o.Full())
			if err == nil {
				err = s.SendMsg(req)
			}
			if err == nil {
				err = s.CloseSend()
			}
			return s, err
		}
		failed := func(err error) error { return senseless(&o.Method, c.failed(o.Name, err)) }
		o.Call(&in, open, failed)(yield)
	}
}

// senseless returns err, and says of a field of an answer that makes no sense whose it
// is.
func senseless(m *op.Method, err error) error {
	var field *op.FieldError
	if errors.As(err, &field) {
		return odd(m.Name, err)
	}
	return err
}
