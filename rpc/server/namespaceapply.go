package server

import (
	"context"
	"errors"
	"github.com/stoadb/stoa/rpc/internal/op"
	"io"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Apply is Namespace.Apply.
func (t *namespaceService) Apply(ctx context.Context, r *stoav1.NamespaceApplyRequest) (*stoav1.NamespaceApplyResponse, error) {
	a, err := t.store().Apply(ctx, r.GetOp())
	if err != nil {
		return nil, aboutNamespace(err, a.Namespace)
	}
	return &stoav1.NamespaceApplyResponse{Answer: govwire.FromAnswer(&a)}, nil
}

// ApplyMany is Namespace.ApplyMany.
func (t *namespaceService) ApplyMany(stream grpc.BidiStreamingServer[stoav1.NamespaceApplyManyRequest, stoav1.NamespaceApplyManyResponse]) error {
	return t.s.govStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		q := op.NewQueue[[]byte](govQueue)
		read := t.s.Detached(ctx, func() error {
			defer q.Close()
			for {
				m, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil || !q.Put(ctx, m.GetOp(), len(m.GetOp())+64) {
					return err
				}
			}
		})
		ops := func(yield func([]byte) bool) {
			for {
				all := q.Take(ctx)
				if len(all) == 0 {
					return
				}
				for _, op := range all {
					if !yield(op) {
						return
					}
				}
			}
		}
		for a, err := range t.store().ApplyMany(ctx, ops) {
			if err != nil {
				return err // which ends the stream, and so Recv
			}
			m := &stoav1.NamespaceApplyManyResponse{Result: &stoav1.NamespaceApplyManyResponse_Answer{Answer: govwire.FromAnswer(&a)}}
			if err := wait.During(func() error { return stream.Send(m) }); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return <-read
	})
}
