package op

import (
	"context"
	"strings"

	"google.golang.org/grpc"
)

// Unary is an operation of one request and one answer: Req and Res are the messages, In
// and Out what they are in Go, and S is what does it.
type Unary[S, In, Out, Req, Res any] struct {
	Method
	Ask    func(*Map, *Req, *In)       // nil: there is nothing to carry
	Answer func(*Map, *Res, *In, *Out) // the same; In is known already
	Do     func(context.Context, S, *In) (Out, error)
}

// Nothing is what an operation takes or returns that takes or returns nothing.
type Nothing struct{}

// Call makes the operation by a call: what the client does.
func (u *Unary[S, In, Out, Req, Res]) Call(in *In, call func(req, res any) error) (out Out, err error) {
	var m Map
	req, res := new(Req), new(Res)
	if carry(&m, req, in, u.Ask); m.err != nil {
		return out, m.err
	}
	if err := call(req, res); err != nil {
		return out, err
	}
	m.parsing = true
	if u.Answer != nil {
		u.Answer(&m, res, in, &out)
	}
	return out, m.err
}

// Serve answers a request: what the server does.
func (u *Unary[S, In, Out, Req, Res]) Serve(ctx context.Context, h Host, s S, req *Req) (*Res, error) {
	var in In
	m := Map{parsing: true}
	if carry(&m, req, &in, u.Ask); m.err != nil {
		return nil, m.err
	}
	if err := h.Admit(ctx, &u.Method, &in); err != nil {
		return nil, err
	}
	out, err := u.Do(ctx, s, &in)
	if err != nil {
		return nil, err
	}
	res := new(Res)
	m.parsing = false
	if u.Answer != nil {
		u.Answer(&m, res, &in, &out)
	}
	return res, m.err
}

// Register adds the operation to a service, whose implementation is an S.
func (u *Unary[S, In, Out, Req, Res]) Register(h Host, d *grpc.ServiceDesc) {
	d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: last(u.Name), Handler: func(s any, ctx context.Context,
		decode func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
		req := new(Req)
		if err := decode(req); err != nil {
			return nil, err
		}
		serve := func(ctx context.Context, req any) (any, error) { return u.Serve(ctx, h, s.(S), req.(*Req)) }
		return around(ctx, req, &grpc.UnaryServerInfo{Server: s, FullMethod: u.Name}, serve)
	}})
}

func carry[Req, In any](m *Map, req *Req, in *In, by func(*Map, *Req, *In)) {
	if by != nil {
		by(m, req, in)
	}
}

// last returns the name of a method within its service.
func last(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
