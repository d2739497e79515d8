package op

import (
	"context"
	"reflect"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Unary is an operation of one request and one answer. In and Out are what they are in
// Go; S does it. Make one by [New].
type Unary[S, In, Out any] struct{ Operation }

// Operation is a [Unary] whose types are known when it runs: of code that has types as parameters
// there is a copy for each of some hundred operations, so it has little.
type Operation struct {
	Method
	do      func(ctx context.Context, s, in any) (out any, err error) // in and out are pointers
	told    func(in, out any) error
	in, out reflect.Type
	asked   *handmade
	answers *handmade

	planned     sync.Once // before what follows is used
	of          messages
	ask, answer Mapping
}

// Handmade is a request or an answer that is put together and taken apart without the protobuf library,
// as package wire has some.
type Handmade[V any] interface {
	// AppendTo appends the message to dst.
	AppendTo(dst []byte) []byte
	// Parse decodes a message, of which it keeps nothing.
	Parse(message []byte) error
	// Set has the message say a value, which it shares.
	Set(v *V)
	// Value returns what the message says.
	Value() (V, error)
}

// handmade is how a [Handmade] message is made and used; values are pointers.
type handmade struct {
	made  func() any
	set   func(m, v any)
	value func(m any) (any, error)
}

func handmadeOf[V any](made func() Handmade[V]) *handmade {
	return &handmade{
		made: func() any { return made() },
		set:  func(m, v any) { m.(Handmade[V]).Set(v.(*V)) },
		value: func(m any) (any, error) {
			v, err := m.(Handmade[V]).Value()
			return &v, err
		},
	}
}

// Nothing is what an operation takes or returns that takes or returns nothing.
type Nothing struct{}

// New returns an operation. The method is one of the protocol, whose messages are what In
// and Out are; see [Pair]: Plan panics otherwise. do is what the server does.
func New[S, In, Out any](m Method, do func(context.Context, S, *In) (Out, error)) *Unary[S, In, Out] {
	u := &Unary[S, In, Out]{Operation{Method: m.named(), in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}}
	u.do = func(ctx context.Context, s, in any) (any, error) {
		out, err := do(ctx, s.(S), in.(*In))
		if err != nil {
			return nil, err
		}
		return &out, nil
	}
	enter(&u.Operation)
	return u
}

// Told has the client complete, or refuse, what it was answered, with what it has asked
// for. It returns u.
func (u *Unary[S, In, Out]) Told(told func(*In, *Out) error) *Unary[S, In, Out] {
	u.told = func(in, out any) error { return told(in.(*In), out.(*Out)) }
	return u
}

// Answered has the answer carried by messages that made returns, as the same bytes. It
// returns u.
func (u *Unary[S, In, Out]) Answered(made func() Handmade[Out]) *Unary[S, In, Out] {
	u.answers = handmadeOf(made)
	return u
}

// Asked has the request carried by messages that made returns, as the same bytes. It
// returns u.
func (u *Unary[S, In, Out]) Asked(made func() Handmade[In]) *Unary[S, In, Out] {
	u.asked = handmadeOf(made)
	return u
}

// Plan plans how the messages are mapped; see [Entry].
func (u *Operation) Plan() {
	u.planned.Do(func() {
		planning.Lock()
		defer planning.Unlock()
		u.of = u.messages()
		u.ask = mappingOf(u.of.request.Zero().Interface(), u.in)
		u.answer = mappingOf(u.of.response.Zero().Interface(), u.out)
	})
}

// Call makes the operation by a call: what the client does. in is an *In, and out an *Out, or nil where
// nothing was answered.
func (u *Operation) Call(in any, call func(req, res any) error) (out any, err error) {
	u.Plan()
	req := u.request()
	if err := u.fill(req, in); err != nil {
		return nil, unsent(err)
	}
	out, err = u.answered(func(res any) error { return call(req, res) })
	if err == nil && u.told != nil {
		err = u.told(in, out)
	}
	return out, err
}

// request returns an empty request.
func (u *Operation) request() any {
	if u.asked != nil {
		return u.asked.made()
	}
	return u.of.request.New().Interface()
}

// fill has a request say what is asked.
func (u *Operation) fill(req, in any) error {
	if u.asked != nil {
		u.asked.set(req, in)
		return nil
	}
	return u.ask.fill(req.(proto.Message), in)
}

// parse returns what a request asks.
func (u *Operation) parse(req any) (any, error) {
	if u.asked != nil {
		return u.asked.value(req)
	}
	in := reflect.New(u.in).Interface()
	return in, u.ask.parse(req.(proto.Message), in)
}

// answered returns what an answer says.
func (u *Operation) answered(receive func(any) error) (any, error) {
	if u.answers != nil {
		res := u.answers.made()
		if err := receive(res); err != nil {
			return nil, err
		}
		return u.answers.value(res)
	}
	res := u.of.response.New().Interface()
	if err := receive(res); err != nil {
		return nil, err
	}
	out := reflect.New(u.out).Interface()
	return out, u.answer.parse(res, out)
}

// serve answers a request: what the server does.
func (u *Operation) serve(ctx context.Context, h Host, s, req any) (any, error) {
	in, err := u.parse(req)
	if err != nil {
		return nil, err
	}
	ctx, err = h.Admit(ctx, &u.Method, in)
	if err != nil {
		return nil, err
	}
	out, err := u.do(ctx, s, in)
	if err != nil {
		return nil, h.Failed(&u.Method, in, err)
	}
	if u.answers != nil {
		res := u.answers.made()
		u.answers.set(res, out)
		return res, nil
	}
	res := u.of.response.New().Interface()
	return res, u.answer.fill(res, out)
}

// Register adds the operation to a service, whose implementation is an S.
func (u *Operation) Register(h Host, d *grpc.ServiceDesc) {
	d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: u.last(), Handler: func(s any, ctx context.Context,
		decode func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
		u.Plan()
		req := u.request()
		if err := decode(req); err != nil {
			return nil, err
		}
		serve := func(ctx context.Context, req any) (any, error) { return u.serve(ctx, h, s, req) }
		return around(ctx, req, &grpc.UnaryServerInfo{Server: s, FullMethod: u.Full()}, serve)
	}})
}
