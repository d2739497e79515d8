package op

import (
	"context"
	"errors"
	"io"
	"iter"
	"reflect"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Stream is an operation of one request whose answer is many items, which come in
// messages of as many as there are, or of one each where the message is no list. Make one
// by [NewStream].
type Stream[S, In, Item any] struct{ Streaming }

// Streaming is a [Stream] whose types are known when it runs; see [Operation]. An item is a pointer.
type Streaming struct {
	Method
	do       func(ctx context.Context, s, in any) iter.Seq2[any, error]
	size     func(item any) int
	ends     func(item any) bool
	queue    int
	in, item reflect.Type
	given    Mapping // of items; nil: by their fields

	planned sync.Once // before what follows is used
	of      messages
	ask     Mapping
	items   Mapping // of a list of them
	one     Mapping // of an item, where messages have one; else nil
}

// NewStream returns an operation. The messages of the method are what In and a list of
// items, or an item, are: Plan panics otherwise. do is what the server does, size is about how
// many bytes an item takes in memory (nil: they are small), and queue how many of them wait for a client that
// reads slowly; 0: none, so that do goes on when an item is sent, and may use its memory again.
func NewStream[S, In, Item any](m Method, do func(context.Context, S, *In) iter.Seq2[Item, error], size func(*Item) int, queue int) *Stream[S, In, Item] {
	o := &Stream[S, In, Item]{Streaming{Method: m.named(), queue: queue, in: reflect.TypeFor[In](), item: reflect.TypeFor[Item]()}}
	o.size = func(item any) int {
		if size == nil {
			return 0
		}
		return size(item.(*Item))
	}
	o.do = func(ctx context.Context, s, in any) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			for item, err := range do(ctx, s.(S), in.(*In)) {
				if !yield(&item, err) {
					return
				}
			}
		}
	}
	enter(&o.Streaming)
	return o
}

// NewStreamBy is NewStream for messages of items that are mapped by functions.
func NewStreamBy[S, In, Item, M any](m Method, do func(context.Context, S, *In) iter.Seq2[Item, error], size func(*Item) int, queue int,
	items *Custom[M, []Item],
) *Stream[S, In, Item] {
	o := NewStream(m, do, size, queue)
	o.given = items
	return o
}

// EndingWith has a stream without a queue end with the item that last is true of, after which do
// yields none: it goes out together with the end of the stream, where there is a way to.
func (o *Stream[S, In, Item]) EndingWith(last func(*Item) bool) *Stream[S, In, Item] {
	o.ends = func(item any) bool { return last(item.(*Item)) }
	return o
}

// LastSender is a [grpc.ServerStream] that sends its last message together with its end.
type LastSender interface {
	// SendLast is SendMsg of the last message of a stream that ends without an error.
	SendLast(m any) error
}

// Plan plans how the messages are mapped; see [Entry].
func (o *Streaming) Plan() {
	o.planned.Do(func() {
		planning.Lock()
		defer planning.Unlock()
		o.of = o.messages()
		o.ask = mappingOf(o.of.request.Zero().Interface(), o.in)
		res := o.of.response.Zero().Interface()
		all := slotsOf(reflect.TypeOf(res).Elem())
		switch {
		case o.given != nil:
			o.items = o.given
		case len(all) == 1 && all[0].arm == nil && all[0].typ.Kind() == reflect.Slice && all[0].typ != raw:
			o.items = mappingOf(res, reflect.SliceOf(o.item))
		default:
			o.one = mappingOf(res, o.item)
		}
	})
}

// message returns the message of some items.
func (o *Streaming) message(items []any) (proto.Message, error) {
	res := o.of.response.New().Interface()
	if o.one != nil {
		return res, o.one.fill(res, items[0])
	}
	list := reflect.New(reflect.SliceOf(o.item))
	list.Elem().Set(reflect.MakeSlice(list.Type().Elem(), len(items), len(items)))
	for i, item := range items {
		list.Elem().Index(i).Set(reflect.ValueOf(item).Elem())
	}
	return res, o.items.fill(res, list.Interface())
}

// told returns the items of a message, a pointer to a list of them.
func (o *Streaming) told(res proto.Message) (any, error) {
	list := reflect.New(reflect.SliceOf(o.item))
	if o.one == nil {
		return list.Interface(), o.items.parse(res, list.Interface())
	}
	list.Elem().Set(reflect.MakeSlice(list.Type().Elem(), 1, 1))
	return list.Interface(), o.one.parse(res, list.Elem().Index(0).Addr().Interface())
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
		err := o.call(in, open, func(items any) bool {
			for _, item := range *items.(*[]Item) {
				if !yield(item, nil) {
					return false
				}
			}
			return true
		})
		if err != nil {
			var none Item
			yield(none, failed(err))
		}
	}
}

// call passes lists of items to take until that has enough, or they end.
func (o *Streaming) call(in any, open func(req proto.Message) (Receiver, error), take func(items any) bool) error {
	o.Plan()
	req := o.of.request.New().Interface()
	if err := o.ask.fill(req, in); err != nil {
		return unsent(err)
	}
	s, err := open(req)
	for err == nil {
		res := o.of.response.New().Interface()
		if err = s.RecvMsg(res); err != nil {
			break
		}
		var items any
		if items, err = o.told(res); err == nil && !take(items) {
			return nil
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Register adds the operation to a service, whose implementation is an S.
func (o *Streaming) Register(h Host, d *grpc.ServiceDesc) {
	d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: o.last(), ServerStreams: true, Handler: func(s any, stream grpc.ServerStream) error {
		o.Plan()
		req := o.of.request.New().Interface()
		if err := stream.RecvMsg(req); err != nil {
			return err
		}
		return o.serve(h, s, req, stream)
	}})
}

// serve sends what a request asks for: what the server does.
func (o *Streaming) serve(h Host, s any, req proto.Message, stream grpc.ServerStream) error {
	in := reflect.New(o.in).Interface()
	if err := o.ask.parse(req, in); err != nil {
		return err
	}
	if _, err := h.Admit(stream.Context(), &o.Method, in); err != nil {
		return err
	}
	gate := h.Gate(stream.Context())
	made := func(ctx context.Context) iter.Seq2[any, error] {
		items := o.do(ctx, s, in)
		if gate != nil {
			items = inTurn(ctx, gate, items, o.size)
		}
		return items
	}
	fill := func(ctx context.Context, q *Queue[any]) error {
		for item, err := range made(ctx) {
			if err != nil {
				return h.Failed(&o.Method, in, err)
			}
			size := o.size(item)
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
	send := func(items []any) error {
		res, err := o.message(items)
		if err != nil {
			return err
		}
		if by, ok := stream.(LastSender); ok && o.ends != nil && o.ends(items[0]) {
			return by.SendLast(res)
		}
		return stream.SendMsg(res)
	}
	direct := func(ctx context.Context, pace Pace) error {
		for item, err := range made(ctx) {
			if err != nil {
				return h.Failed(&o.Method, in, err)
			}
			if err := pace.During(func() error { return send([]any{item}) }); err != nil {
				return err
			}
		}
		return nil
	}
	var dropped func([]any)
	if gate != nil {
		dropped = func(items []any) { gate.Sent(o.sizes(items)) }
		ungated := send
		send = func(items []any) error {
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
		if o.one == nil {
			return Pass(ctx, h, pace, o.queue, fill, send, dropped)
		}
		return Pass(ctx, h, unpaced{}, o.queue, fill, func(items []any) error {
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
func inTurn(ctx context.Context, gate Gate, items iter.Seq2[any, error], size func(any) int) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		defer gate.Left()
		enter := func() bool {
			err := gate.Enter(ctx)
			if err != nil {
				yield(nil, err)
			}
			return err == nil
		}
		if !enter() {
			return
		}
		for item, err := range items {
			gate.Left()
			large := err == nil && size(item) >= largeItem
			if !yield(item, err) || large && !enter() {
				return
			}
		}
	}
}

// sizes returns what items take together.
func (o *Streaming) sizes(items []any) (bytes int) {
	for _, item := range items {
		bytes += o.size(item)
	}
	return bytes
}

// unpaced is the pace of what paces its parts.
type unpaced struct{}

func (unpaced) During(work func() error) error { return work() }
