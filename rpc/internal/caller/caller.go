// Package caller makes operations by a client, for the packages that have the client's
// methods: calls, streams, lists that come in pages, and watches that go on where they were
// cut off. Start at Caller, Call and Stream.
package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Caller is a client of a daemon. Any number of goroutines may use it at once.
type Caller interface {
	// Unary makes one call. Its error is one that callers see.
	Unary(ctx context.Context, m *op.Method, ask, answer any) error
	// Open sends the request of a stream, which ends with ctx. Its error is a status.
	Open(ctx context.Context, m *op.Method, req proto.Message) (op.Receiver, error)
	// Failed returns what Open, or its stream, returned as an error that callers see.
	Failed(m *op.Method, err error) error
}

// Call makes an operation of one answer.
func Call[S, In, Out any](ctx context.Context, c Caller, o *op.Unary[S, In, Out], in In) (Out, error) {
	out, err := made(ctx, c, &o.Operation, &in)
	if out == nil {
		var none Out
		return none, err
	}
	return *out.(*Out), err
}

func made(ctx context.Context, c Caller, o *op.Operation, in any) (any, error) {
	out, err := o.Call(in, func(req, res any) error { return c.Unary(ctx, &o.Method, req, res) })
	return out, Senseless(&o.Method, err)
}

// Stream makes an operation whose answer is a stream, which ends with the loop over it.
func Stream[S, In, Item any](ctx context.Context, c Caller, o *op.Stream[S, In, Item], in In) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		open := func(req proto.Message) (op.Receiver, error) { return c.Open(ctx, &o.Method, req) }
		failed := func(err error) error { return Senseless(&o.Method, c.Failed(&o.Method, err)) }
		o.Call(&in, open, failed)(yield)
	}
}

// Senseless returns err, and says of a field of an answer that makes no sense whose it
// is.
func Senseless(m *op.Method, err error) error {
	var field *op.FieldError
	if errors.As(err, &field) {
		return Odd(m.Name, err)
	}
	return err
}

// Odd returns what is wrong with an answer that makes no sense, if anything is.
func Odd(name string, err error) error {
	if err == nil || errors.Is(err, fault.ErrInternal) {
		return err
	}
	return fmt.Errorf("rpc: %s: %w: the daemon's answer makes no sense: %s", name, fault.ErrInternal, err.Error())
}

// JSONOf returns a value as JSON, that of the field or key that is named. What is JSON
// already is left to the daemon to judge.
func JSONOf(name string, value any) (json.RawMessage, error) {
	if text, ok := value.(json.RawMessage); ok {
		return text, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%w: the value of %q: %w", fault.ErrRequest, name, err)
	}
	return text, nil
}
