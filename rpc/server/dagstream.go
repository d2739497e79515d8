package server

import (
	"context"
	"time"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/limit"
	"github.com/stoadb/stoa/rpc/stoav1"
)

const (
	whatDagStreams = "streams of deltas"
	whatKVStreams  = "streams of key-values"
)

// dagStream runs work, a stream of the Dag service, on a goroutine of its own,
// and returns when work does, when the client keeps it waiting for too long, or
// when the server stops. work ends with its context, and a write that it has
// begun is finished first.
func (s *Server) dagStream(ctx context.Context, work func(context.Context, *peerWait) error) error {
	return s.pacedStream(ctx, &s.dagStreams, work)
}

// pacedStream is dagStream for the streams that open counts.
func (s *Server) pacedStream(ctx context.Context, open *limit.Quota, work func(context.Context, *peerWait) error) error {
	if err := open.Take(1); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wait := &peerWait{now: s.o.Now}
	done := s.Detached(ctx, func() error {
		defer open.Give(1)
		return work(ctx, wait)
	})
	timer := time.NewTimer(s.o.SessionIdle)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-s.stopping:
			return limit.Stopping()
		case <-timer.C:
		}
		left := wait.left(s.o.SessionIdle)
		if left <= 0 {
			return fault.New(stoav1.ErrorKind_ERROR_KIND_CLOSED,
				"rpc: closed: the client kept the stream waiting for "+s.o.SessionIdle.String())
		}
		timer.Reset(left)
	}
}
