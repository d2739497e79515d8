package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// namespaceService is what of the Namespace service is written by hand.
type namespaceService struct {
	stoav1.UnimplementedNamespaceServer
	s *Server
}

// ApplyMany answers Namespace.ApplyMany: it takes in ops as they come.
func (t *namespaceService) ApplyMany(stream grpc.BidiStreamingServer[stoav1.NamespaceApplyManyRequest, stoav1.NamespaceApplyManyResponse]) error {
	return t.s.pacedStream(stream.Context(), t.s.govStreams, func(ctx context.Context, wait *peerWait) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		q, read := ahead(ctx, t.s, stream.Recv, func(m *stoav1.NamespaceApplyManyRequest) int { return len(m.GetOp()) })
		ops := func(yield func([]byte) bool) {
			for {
				all := q.Take(ctx)
				if len(all) == 0 {
					return
				}
				for _, m := range all {
					if !yield(m.GetOp()) {
						return
					}
				}
			}
		}
		for a, err := range t.s.o.Namespaces.ApplyMany(ctx, ops) {
			if err != nil {
				return err // which ends the stream, and so Recv
			}
			answer, err := govwire.Answers.Message(&a)
			if err != nil {
				return err
			}
			m := &stoav1.NamespaceApplyManyResponse{Result: &stoav1.NamespaceApplyManyResponse_Answer{Answer: answer}}
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
