package rpc

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Operations returns the operations of a service, such as stoa.v1.Kv, for package
// server.
func Operations(service string) []op.Entry { return operations[service] }

// operations are those of each service.
var operations = map[string][]op.Entry{
	"stoa.v1.Kv": slices.Concat(kvReads, kvChanges, kvTenants),
}

// FrameMethods returns the calls that go in frames, for package server.
func FrameMethods() []frame.Method {
	all := frame.Methods()
	for _, service := range operations {
		for _, o := range service {
			m := o.About()
			all = append(all, frame.Method{Number: m.Number, Name: m.Name, Short: m.Short})
		}
	}
	slices.SortFunc(all, func(a, b frame.Method) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// call makes an operation by the client.
func call[S, In, Out, Req, Res any](ctx context.Context, c *Client, o *op.Unary[S, In, Out, Req, Res], in In) (Out, error) {
	out, err := o.Call(&in, func(req, res any) error { return c.unary(ctx, o.Label, o.Name, req, res) })
	return out, senseless(o.Label, err)
}

// stream makes an operation by the client.
func stream[S, In, Item, Req, Res any](ctx context.Context, c *Client, o *op.Stream[S, In, Item, Req, Res], in In) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		ctx, cancel := c.within(ctx)
		defer cancel()
		open := func(req any) (op.Receiver, error) {
			s, err := c.carrier.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, o.Name)
			if err == nil {
				err = s.SendMsg(req)
			}
			if err == nil {
				err = s.CloseSend()
			}
			return s, err
		}
		for item, err := range o.Call(&in, open, func(err error) error { return c.failed(o.Label, err) }) {
			if !yield(item, senseless(o.Label, err)) {
				return
			}
		}
	}
}

// senseless returns err, and says of a field that makes no sense whose it is.
func senseless(label string, err error) error {
	var field *op.FieldError
	if errors.As(err, &field) {
		return odd(label, err)
	}
	return err
}
