package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// offer sends each of items over one stream as the request that it makes, and
// yields the answers in their order, each with an error of its own if the item
// could not be judged. items is drawn from on a goroutine of its own, which ends
// no later than the next item after the answers have ended.
func offer[Req, Res, A any, M interface {
	*Res
	GetError() *stoav1.Error
}](ctx context.Context, c *Client, what string,
	open func(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[Req, Res], error),
	items iter.Seq[[]byte], request func([]byte) *Req, answer func(*Res) (A, error),
) iter.Seq2[A, error] {
	return func(yield func(A, error) bool) {
		var none A
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := open(ctx)
		if err != nil {
			yield(none, c.failed(what, err))
			return
		}
		go func() {
			for item := range items {
				// A failure to send is told by the answers.
				if ctx.Err() != nil || stream.Send(request(item)) != nil {
					return
				}
			}
			_ = stream.CloseSend() // never fails
		}()
		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(none, c.failed(what, err))
				return
			}
			a := none
			if e := M(m).GetError(); e != nil {
				err = fmt.Errorf("rpc: %s: %w", what, fault.FromSession(e))
			} else if a, err = answer(m); err != nil {
				err = caller.Odd(what, err)
			}
			if !yield(a, err) {
				return
			}
		}
	}
}
