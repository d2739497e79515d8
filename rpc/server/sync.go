package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/exchange"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/syncwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// syncService is the service Sync.
type syncService struct {
	stoav1.UnimplementedSyncServer
	s *Server
}

// Session answers Sync.Session: it has a session, of which the client carries the bytes.
func (t *syncService) Session(stream grpc.BidiStreamingServer[stoav1.SyncSessionRequest, stoav1.SyncSessionResponse]) error {
	return t.s.pacedStream(stream.Context(), t.s.govStreams, func(ctx context.Context, wait *peerWait) error {
		m, err := receive(wait, stream.Recv)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		o, err := syncOptions(m.GetStart())
		if err != nil {
			return err
		}
		a := accountOf(ctx)
		if err := t.s.inFlight.Take(a, exchange.Memory); err != nil {
			return err
		}
		defer t.s.inFlight.Give(a, exchange.Memory)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		c := &carried{ctx: ctx, stream: stream, wait: wait, end: cancel}
		c.queue, _ = ahead(ctx, t.s, stream.Recv, func(m *stoav1.SyncSessionRequest) int { return len(m.GetBytes()) })
		o.Idle, o.Progress = t.s.o.SessionIdle, c.progress
		report, err := exchange.Run(ctx, c, exchange.Stores{Governance: t.s.o.Namespaces, Contexts: t.s.o.Dag, Content: t.s.content, Blobs: t.s.blobs}, o)
		c.reports(report)
		return err
	})
}

func syncOptions(start *stoav1.SyncStart) (o exchange.Options, err error) {
	if start == nil {
		return o, badField("start", "it comes first")
	}
	o.Initiator, o.Anyone, o.Blobs = start.GetInitiator(), start.GetAnyone(), start.GetBlobs()
	for _, b := range start.GetNamespaces() {
		id, err := op.ParseID[codec.GroupID]("namespaces", b)
		if err != nil {
			return o, err
		}
		o.Namespaces = append(o.Namespaces, id)
	}
	for _, b := range start.GetContexts() {
		id, err := op.ParseID[codec.ContextID]("contexts", b)
		if err != nil {
			return o, err
		}
		o.Contexts = append(o.Contexts, id)
	}
	return o, nil
}

// carried is the stream of a session, of which a client carries the bytes.
type carried struct {
	ctx    context.Context
	stream grpc.BidiStreamingServer[stoav1.SyncSessionRequest, stoav1.SyncSessionResponse]
	wait   *peerWait
	queue  *op.Queue[*stoav1.SyncSessionRequest]
	came   []*stoav1.SyncSessionRequest
	left   []byte
	end    context.CancelFunc
	mu     sync.Mutex // of what is sent: bytes, and reports
}

func (c *carried) Read(b []byte) (int, error) {
	for len(c.left) == 0 {
		if len(c.came) == 0 {
			all, err := receive(c.wait, func() ([]*stoav1.SyncSessionRequest, error) { return c.queue.Take(c.ctx), nil })
			if err != nil || len(all) == 0 {
				return 0, cmp.Or(err, io.EOF)
			}
			c.came = all
		}
		c.left = c.came[0].GetBytes()
		c.came = c.came[1:]
	}
	n := copy(b, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *carried) Write(b []byte) (int, error) {
	return len(b), c.send(&stoav1.SyncSessionResponse{Part: &stoav1.SyncSessionResponse_Bytes{Bytes: bytes.Clone(b)}})
}

func (c *carried) send(m *stoav1.SyncSessionResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream.Send(m)
}

// reports sends what went so far. A failure is met by who sends bytes, or receives some.
func (c *carried) reports(r *exchange.Report) {
	if m, err := syncwire.Reports.Message(r); err == nil {
		_ = c.send(&stoav1.SyncSessionResponse{Part: &stoav1.SyncSessionResponse_Report{Report: m}})
	}
}

// progress sends what went so far, if that is not long.
func (c *carried) progress(r *exchange.Report) {
	contexts := 0
	for i := range r.Namespaces {
		contexts += len(r.Namespaces[i].Contexts)
	}
	if contexts <= 256 {
		c.reports(r)
	}
}

// Close ends the stream, so that who reads or writes returns.
func (c *carried) Close() error {
	c.end()
	return nil
}
