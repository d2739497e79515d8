package rpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/exchange"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/syncwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// SyncOptions say what a daemon exchanges with another node.
type SyncOptions struct {
	// Initiator is set by one of the two, whichever: who has called the other.
	Initiator bool
	// Namespaces are what is exchanged; none: all that the daemon has.
	Namespaces []codec.GroupID
	// Contexts are those of which deltas are exchanged; none: all.
	Contexts []codec.ContextID
	// Anyone has the other node be given what it asks for without a proof that it is a member.
	Anyone bool
	// Progress is called now and then with what went so far; nil: nobody asks. It is to be quick.
	Progress func(*exchange.Report)
}

// SyncSession is a session of the daemon with another node; rpc/SYNC.md is what the two say. What is
// read is for the other node, and what comes from there is to be written, over whatever carries bytes,
// in order and whole: both at the same time, or the two wait for each other for ever. Read returns
// io.EOF when nothing more is to be sent; then [SyncSession.Report] has how it went.
type SyncSession struct {
	c      *Client
	s      syncStream
	cancel context.CancelFunc
	o      SyncOptions
	left   []byte // of what came from the daemon, and was not read

	mu     sync.Mutex
	report *exchange.Report
	err    error // how it ended; io.EOF: well
}

type syncStream interface {
	Send(*stoav1.SyncSessionRequest) error
	Recv() (*stoav1.SyncSessionResponse, error)
	CloseSend() error
}

var syncSession = op.ByHand(op.Method{Number: 660, Name: "Sync.Session", Role: access.Signer})

// Sync begins a session of the daemon with another node. It is ended by [SyncSession.Close]. While it
// goes on it counts among the streams of ops.
func (c *Client) Sync(ctx context.Context, o SyncOptions) (*SyncSession, error) {
	ctx, cancel := context.WithCancel(ctx)
	s, err := c.sync.Session(ctx)
	if err == nil {
		start := &stoav1.SyncStart{Initiator: o.Initiator, Anyone: o.Anyone}
		for _, id := range o.Namespaces {
			start.Namespaces = append(start.Namespaces, id[:])
		}
		for _, id := range o.Contexts {
			start.Contexts = append(start.Contexts, id[:])
		}
		err = s.Send(&stoav1.SyncSessionRequest{Part: &stoav1.SyncSessionRequest_Start{Start: start}})
	}
	if err != nil {
		cancel()
		return nil, c.failed(syncSession.Name, err)
	}
	return &SyncSession{c: c, s: s, cancel: cancel, o: o}, nil
}

// Read reads what is for the other node. One goroutine may at a time.
func (s *SyncSession) Read(b []byte) (int, error) {
	for len(s.left) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.left)
	s.left = s.left[n:]
	return n, nil
}

// next takes the next message of the daemon.
func (s *SyncSession) next() error {
	s.mu.Lock()
	ended := s.err
	s.mu.Unlock()
	if ended != nil {
		return ended
	}
	m, err := s.s.Recv()
	var report *exchange.Report
	if err == nil {
		s.left = m.GetBytes()
		if r := m.GetReport(); r != nil {
			var v exchange.Report
			v, err = syncwire.Reports.Value(r)
			report, err = &v, caller.Odd(syncSession.Name, err)
		}
	} else if !errors.Is(err, io.EOF) {
		err = s.c.failed(syncSession.Name, err)
	}
	s.mu.Lock()
	if report != nil {
		s.report = report
	}
	s.err = err
	s.mu.Unlock()
	if report != nil && err == nil && s.o.Progress != nil {
		s.o.Progress(report)
	}
	return err
}

// Write hands what has come from the other node to the daemon. One goroutine may at a time.
func (s *SyncSession) Write(b []byte) (n int, err error) {
	const most = 1 << 20
	for len(b) > 0 {
		part := b[:min(len(b), most)]
		if err := s.s.Send(&stoav1.SyncSessionRequest{Part: &stoav1.SyncSessionRequest_Bytes{Bytes: part}}); err != nil {
			return n, err // Read says why
		}
		n, b = n+len(part), b[len(part):]
	}
	return n, nil
}

// CloseWrite says that nothing more will come from the other node.
func (s *SyncSession) CloseWrite() error { return s.s.CloseSend() }

// Close ends the session, wherever it is. Read may be under way.
func (s *SyncSession) Close() error {
	s.cancel()
	return nil
}

// Report returns what went so far, and, once Read has returned an error, how the session ended.
func (s *SyncSession) Report() (*exchange.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || errors.Is(s.err, io.EOF) {
		return s.report, nil
	}
	return s.report, s.err
}
