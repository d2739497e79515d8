package op

import (
	"context"
	"errors"
	"io"
	"iter"
	"reflect"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Stream is an operation of one request whose answer is many items, which come in
// messages of as many as there are, or of one each where the message is no list. Make one
// by [NewStream].
type Stream[S, In, Item any] struct {
	Method
	do    func(context.Context, S, *In) iter.Seq2[Item, error]
	size  func(*Item) int
	queue int
	ask   Mapping[In]
	items Mapping[[]Item]
	of    messages
	plan  func() // before the three above, and what follows, are used

	single bool // messages have one item
	ends   func(*Item) bool
}

// NewStream returns an operation. The messages of the method are what In and a list of
// items, or an item, are: Plan panics otherwise. do is what the server does, size is about how
// many bytes an item takes in memory (nil: they are small), and queue how many of them wait for a client that
// reads slowly; 0: none, so that do goes on when an item is sent, and may use its memory again.
func NewStream[S, In, Item any](m Method, do func(context.Context, S, *In) iter.Seq2[Item, error], size func(*Item) int, queue int) *Stream[S, In, Item] {
	return NewStreamBy(m, do, size, queue, nil)
}

// NewStreamBy is NewStream for messages of items that are mapped by functions; nil is as
// by NewStream.
func NewStreamBy[S, In, Item any](m Method, do func(context.Context, S, *In) iter.Seq2[Item, error], size func(*Item) int, queue int,
	items Mapping[[]Item],
) *Stream[S, In, Item] {
	if size == nil {
		size = func(*Item) int { return 0 }
	}
	o := &Stream[S, In, Item]{Method: m.named(), do: do, size: size, queue: queue, items: items}
	o.plan = once(func() {
		o.of = o.messages()
		o.ask = mappingOf[In](o.of.request.Zero().Interface())
		if o.items == nil {
			o.items = listOf[Item](o.of.response.Zero().Interface())
		}
		_, o.single = o.items.(single[Item])
	})
	return listed(o)
}

// EndingWith has a stream without a queue end with the item that last is true of, after which do
// yields none: it goes out together with the end of the stream, where there is a way to.
func (o *Stream[S, In, Item]) EndingWith(last func(*Item) bool) *Stream[S, In, Item] {
	o.ends = last
	return o
}

// LastSender is a [grpc.ServerStream] that sends its last message together with its end.
type LastSender interface {
	// SendLast is SendMsg of the last message of a stream that ends without an error.
	SendLast(m any) error
}

// Plan plans how the messages are mapped; see [Entry].
func (o *Stream[S, In, Item]) Plan() { o.plan() }

// listOf returns the mapping of a list of items for a message, or of a list of one where
// the message has no list.
func listOf[Item any](m proto.Message) Mapping[[]Item] {
	if all := slotsOf(reflect.TypeOf(m).Elem()); len(all) == 1 && all[0].arm == nil && all[0].typ.Kind() == reflect.Slice && all[0].typ != raw {
		return mappingOf[[]Item](m)
	}
	return single[Item]{mappingOf[Item](m)}
}

// single is the mapping of a list of one item.
type single[Item any] struct{ one Mapping[Item] }

func (s single[Item]) fill(m proto.Message, list *[]Item) error { return s.one.fill(m, &(*list)[0]) }

func (s single[Item]) parse(m proto.Message, list *[]Item) error {
	*list = make([]Item, 1)
	return s.one.parse(m, &(*list)[0])
}

// Receiver receives the messages of a stream.
type Receiver interface {
	// RecvMsg reads the next message into m; io.EOF is the end.
	RecvMsg(m any) error
}

// Call makes the operation by a stream that open opens: what the client does. failed
// makes what the caller sees of an error.
func (o *Stream[S, In, Item]) Call(in *In, open func(req proto.Message) (Receiver, error), failed func(error) error) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		o.plan()
		req := o.of.request.New().Interface()
		err := unsent(o.ask.fill(req, in))
		var s Receiver
		if err == nil {
			s, err = open(req)
		}
		for err == nil {
			res := o.of.response.New().Interface()
			if err = s.RecvMsg(res); err != nil {
				break
			}
			var items []Item
			if err = o.items.parse(res, &items); err != nil {
				break
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			var none Item
			yield(none, failed(err))
		}
	}
}

// Register adds the operation to a service, whose implementation is an S.
func (o *Stream[S, In, Item]) Register(h Host, d *grpc.ServiceDesc) {
	d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: o.last(), ServerStreams: true, Handler: func(s any, stream grpc.ServerStream) error {
		o.plan()
		req := o.of.request.New().Interface()
		if err := stream.RecvMsg(req); err != nil {
			return err
		}
		return o.serve(h, s.(S), req, stream)
	}})
}

// serve sends what a request asks for: what the server does.
func (o *Stream[S, In, Item]) serve(h Host, s S, req proto.Message, stream grpc.ServerStream) error {
	var in In
	if err := o.ask.parse(req, &in); err != nil {
		return err
	}
	if _, err := h.Admit(stream.Context(), &o.Method, &in); err != nil {
		return err
	}
	gate := h.Gate(stream.Context())
	made := func(ctx context.Context) iter.Seq2[Item, error] {
		items := o.do(ctx, s, &in)
		if gate != nil {
			items = inTurn(ctx, gate, items, o.size)
		}
		return items
	}
	fill := func(ctx context.Context, q *Queue[Item]) error {
		for item, err := range made(ctx) {
			if err != nil {
				return h.Failed(&o.Method, &in, err)
			}
			size := o.size(&item)
			if gate != nil {
				if err := gate.Made(size); err != nil {
					return err
				}
			}
			if !q.Put(ctx, item, size) {
				if gate != nil {
					gate.Sent(size)
				}
				break
			}
		}
		return nil
	}
	send := func(items []Item) error {
		res := o.of.response.New().Interface()
		if err := o.items.fill(res, &items); err != nil {
			return err
		}
		if by, ok := stream.(LastSender); ok && o.ends != nil && o.ends(&items[0]) {
			return by.SendLast(res)
		}
		return stream.SendMsg(res)
	}
	direct := func(ctx context.Context, pace Pace) error {
		for item, err := range made(ctx) {
			if err != nil {
				return h.Failed(&o.Method, &in, err)
			}
			if err := pace.During(func() error { return send([]Item{item}) }); err != nil {
				return err
			}
		}
		return nil
	}
	var dropped func([]Item)
	if gate != nil {
		dropped = func(items []Item) { gate.Sent(o.sizes(items)) }
		ungated := send
		send = func(items []Item) error {
			if o.queue > 0 {
				defer gate.Sent(o.sizes(items))
			}
			return ungated(items)
		}
	}
	return h.Paced(stream.Context(), &o.Method, func(ctx context.Context, pace Pace) error {
		if o.queue == 0 {
			return direct(ctx, pace)
		}
		if !o.single {
			return Pass(ctx, h, pace, o.queue, fill, send, dropped)
		}
		return Pass(ctx, h, unpaced{}, o.queue, fill, func(items []Item) error {
			for i := range items {
				if err := pace.During(func() error { return send(items[i : i+1]) }); err != nil {
					if dropped != nil {
						dropped(items[i+1:])
					}
					return err
				}
			}
			return nil
		}, dropped)
	})
}

// largeItem is the size of an item from which the next is made in turn again, in bytes: small ones
// follow each other as they come.
const largeItem = 16 << 10

// inTurn has items be made as they go through a gate, whose turn ends with each.
func inTurn[Item any](ctx context.Context, gate Gate, items iter.Seq2[Item, error], size func(*Item) int) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		defer gate.Left()
		enter := func() bool {
			err := gate.Enter(ctx)
			if err != nil {
				var none Item
				yield(none, err)
			}
			return err == nil
		}
		if !enter() {
			return
		}
		for item, err := range items {
			gate.Left()
			large := err == nil && size(&item) >= largeItem
			if !yield(item, err) || large && !enter() {
				return
			}
		}
	}
}

// sizes returns what items take together.
func (o *Stream[S, In, Item]) sizes(items []Item) (bytes int) {
	for i := range items {
		bytes += o.size(&items[i])
	}
	return bytes
}

// unpaced is the pace of what paces its parts.
type unpaced struct{}

func (unpaced) During(work func() error) error { return work() }
