package op

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc"
)

// Stream is an operation of one request whose answer is many items, which come in
// messages of as many as there are.
type Stream[S, In, Item, Req, Res any] struct {
	Method
	Ask   func(*Map, *Req, *In)
	Items func(*Map, *Res, *In, *[]Item)
	Do    func(context.Context, S, *In) iter.Seq2[Item, error]
	Size  func(*Item) int // about how many bytes an item takes in memory
	Queue int             // how many bytes of items wait for a client that reads slowly, about
}

// Receiver receives the messages of a stream.
type Receiver interface{ RecvMsg(m any) error }

// Call makes the operation by a stream that open opens: what the client does. fail
// makes what the caller sees of an error.
func (o *Stream[S, In, Item, Req, Res]) Call(in *In, open func(req any) (Receiver, error), fail func(error) error) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var m Map
		var none Item
		req := new(Req)
		if o.Ask(&m, req, in); m.err != nil {
			yield(none, m.err)
			return
		}
		m.parsing = true
		s, err := open(req)
		for err == nil {
			res := new(Res)
			if err = s.RecvMsg(res); err != nil {
				break
			}
			var items []Item
			if o.Items(&m, res, in, &items); m.err != nil {
				yield(none, m.err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(none, fail(err))
		}
	}
}

// Register adds the operation to a service, whose implementation is an S.
func (o *Stream[S, In, Item, Req, Res]) Register(h Host, d *grpc.ServiceDesc) {
	d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: last(o.Name), ServerStreams: true, Handler: func(s any, stream grpc.ServerStream) error {
		req := new(Req)
		if err := stream.RecvMsg(req); err != nil {
			return err
		}
		return o.serve(h, s.(S), req, stream)
	}})
}

func (o *Stream[S, In, Item, Req, Res]) serve(h Host, s S, req *Req, stream grpc.ServerStream) error {
	var in In
	m := Map{parsing: true}
	if o.Ask(&m, req, &in); m.err != nil {
		return m.err
	}
	if err := h.Admit(stream.Context(), &o.Method, &in); err != nil {
		return err
	}
	return h.Paced(stream.Context(), &o.Method, func(ctx context.Context, pace Pace) error {
		fill := func(ctx context.Context, q *Queue[Item]) error {
			for item, err := range o.Do(ctx, s, &in) {
				if err != nil {
					return err
				}
				if !q.Put(ctx, item, o.Size(&item)) {
					break
				}
			}
			return nil
		}
		return Pass(ctx, h, pace, o.Queue, fill, func(items []Item) error {
			var m Map
			res := new(Res)
			if o.Items(&m, res, &in, &items); m.err != nil {
				return m.err
			}
			return stream.SendMsg(res)
		})
	})
}
