package op

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Unary is an operation of one request and one answer. In and Out are what they are in
// Go; S does it. Make one by [New].
type Unary[S, In, Out any] struct {
	Method
	do       func(context.Context, S, *In) (Out, error)
	told     func(*In, *Out) error
	ask      Mapping[In]
	answer   Mapping[Out]
	of       messages
	plan     func() // before the three above are used
	handmade func() Handmade[Out]
	asked    func() Handmade[In]
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

// Nothing is what an operation takes or returns that takes or returns nothing.
type Nothing struct{}

// New returns an operation. The method is one of the protocol, whose messages are what In
// and Out are; see [Pair]: Plan panics otherwise. do is what the server does.
func New[S, In, Out any](m Method, do func(context.Context, S, *In) (Out, error)) *Unary[S, In, Out] {
	u := &Unary[S, In, Out]{Method: m.named(), do: do}
	u.plan = once(func() {
		u.of = u.messages()
		u.ask = mappingOf[In](u.of.request.Zero().Interface())
		u.answer = mappingOf[Out](u.of.response.Zero().Interface())
	})
	return listed(u)
}

// Plan plans how the messages are mapped; see [Entry].
func (u *Unary[S, In, Out]) Plan() { u.plan() }

// Told has the client complete, or refuse, what it was answered, with what it has asked
// for. It returns u.
func (u *Unary[S, In, Out]) Told(told func(*In, *Out) error) *Unary[S, In, Out] {
	u.told = told
	return u
}

// Answered has the answer carried by messages that made returns, as the same bytes. It
// returns u.
func (u *Unary[S, In, Out]) Answered(made func() Handmade[Out]) *Unary[S, In, Out] {
	u.handmade = made
	return u
}

// Asked has the request carried by messages that made returns, as the same bytes. It
// returns u.
func (u *Unary[S, In, Out]) Asked(made func() Handmade[In]) *Unary[S, In, Out] {
	u.asked = made
	return u
}

// Call makes the operation by a call: what the client does.
func (u *Unary[S, In, Out]) Call(in *In, call func(req, res any) error) (out Out, err error) {
	u.plan()
	req := u.request()
	if err := u.fill(req, in); err != nil {
		return out, unsent(err)
	}
	if out, err = u.answered(func(res any) error { return call(req, res) }); err == nil && u.told != nil {
		err = u.told(in, &out)
	}
	return out, err
}

// request returns an empty request.
func (u *Unary[S, In, Out]) request() any {
	if u.asked != nil {
		return u.asked()
	}
	return u.of.request.New().Interface()
}

// fill has a request say what is asked.
func (u *Unary[S, In, Out]) fill(req any, in *In) error {
	if r, ok := req.(Handmade[In]); ok {
		r.Set(in)
		return nil
	}
	return u.ask.fill(req.(proto.Message), in)
}

// parse returns what a request asks.
func (u *Unary[S, In, Out]) parse(req any) (in In, err error) {
	if r, ok := req.(Handmade[In]); ok {
		return r.Value()
	}
	err = u.ask.parse(req.(proto.Message), &in)
	return in, err
}

// answered returns what an answer says.
func (u *Unary[S, In, Out]) answered(receive func(any) error) (out Out, err error) {
	if u.handmade != nil {
		res := u.handmade()
		if err := receive(res); err != nil {
			return out, err
		}
		return res.Value()
	}
	res := u.of.response.New().Interface()
	if err := receive(res); err != nil {
		return out, err
	}
	err = u.answer.parse(res, &out)
	return out, err
}

// serve answers a request: what the server does.
func (u *Unary[S, In, Out]) serve(ctx context.Context, h Host, s S, req any) (any, error) {
	in, err := u.parse(req)
	if err != nil {
		return nil, err
	}
	ctx, err = h.Admit(ctx, &u.Method, &in)
	if err != nil {
		return nil, err
	}
	out, err := u.do(ctx, s, &in)
	if err != nil {
		return nil, h.Failed(&u.Method, &in, err)
	}
	if u.handmade != nil {
		res := u.handmade()
		res.Set(&out)
		return res, nil
	}
	res := u.of.response.New().Interface()
	return res, u.answer.fill(res, &out)
}

// Register adds the operation to a service, whose implementation is an S.
func (u *Unary[S, In, Out]) Register(h Host, d *grpc.ServiceDesc) {
	d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: u.last(), Handler: func(s any, ctx context.Context,
		decode func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
		u.plan()
		req := u.request()
		if err := decode(req); err != nil {
			return nil, err
		}
		serve := func(ctx context.Context, req any) (any, error) { return u.serve(ctx, h, s.(S), req) }
		return around(ctx, req, &grpc.UnaryServerInfo{Server: s, FullMethod: u.Full()}, serve)
	}})
}
