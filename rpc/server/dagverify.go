package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Verify is Dag.Verify.
func (t *dagService) Verify(r *stoav1.DagVerifyRequest, stream grpc.ServerStreamingServer[stoav1.DagVerifyResponse]) error {
	id, err := contextID(r)
	if err != nil {
		return err
	}
	return t.s.dagStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		report, err := t.s.o.Dag.Verify(ctx, id, dag.VerifyOptions{Scratch: func() (engine.Engine, func() error, error) {
			e := mem.New()
			return e, e.Close, nil
		}})
		if err != nil {
			return aboutContext(err, id)
		}
		for _, m := range dagwire.FromReport(&report) {
			if err := wait.During(func() error { return stream.Send(m) }); err != nil {
				return err
			}
		}
		return nil
	})
}
