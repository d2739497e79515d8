package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/namespace/exchange"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	_ "github.com/stoadb/stoa/rpc/internal/contentwire" // what types of package content are in messages
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/syncwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Content is the signed deltas of the contexts of a daemon that groups have. Its methods are those of
// content.Store, with the same errors, and those of calls. It is a view of its client, and as safe for
// concurrent use.
type Content struct{ c *Client }

// Content returns the signed deltas of the daemon.
func (c *Client) Content() *Content { return &Content{c} }

// Limits of what is offered in one call.
const (
	MaxOffered      = 1024     // envelopes
	MaxOfferedBytes = 16 << 20 // of them
)

// contentOffering are the arguments of Offer.
type contentOffering struct {
	dagContext
	Envelopes [][]byte
}

// contentOffered is what became of them.
type contentOffered struct{ Answers []content.Answer }

var contentOffer = op.New(op.Method{Number: 651, Name: "Content.Offer", Role: access.Writer},
	func(ctx context.Context, s *content.Store, a *contentOffering) (o contentOffered, err error) {
		size := 0
		for _, e := range a.Envelopes {
			size += len(e)
		}
		if len(a.Envelopes) > MaxOffered || size > MaxOfferedBytes {
			return o, &op.FieldError{Field: "envelopes", Reason: fmt.Sprintf("%d of them, of %d bytes: at most %d, of %d, in one call", len(a.Envelopes), size, MaxOffered, MaxOfferedBytes)}
		}
		o.Answers, err = s.Offer(ctx, a.ContextID, a.Envelopes)
		return o, err
	})

// Offer takes in envelopes of a context, parents first, and says what became of each; see
// [content.Store.Offer]. At most [MaxOffered] of them, of [MaxOfferedBytes].
func (c *Content) Offer(ctx context.Context, id codec.ContextID, envelopes [][]byte) ([]content.Answer, error) {
	o, err := call(ctx, c.c, contentOffer, contentOffering{dagContext{id}, envelopes})
	return o.Answers, err
}

// contentGetting are the arguments of Get.
type contentGetting struct {
	dagContext
	EnvelopeID codec.EnvelopeID `wire:",optional"`
	DeltaID    codec.DeltaID    `wire:",optional"`
}

// contentGot is an envelope.
type contentGot struct{ Envelope []byte }

var contentGet = op.New(op.Method{Number: 652, Name: "Content.Get", Role: access.Reader},
	func(ctx context.Context, s *content.Store, a *contentGetting) (g contentGot, err error) {
		if a.EnvelopeID.IsZero() {
			g.Envelope, err = s.EnvelopeOf(ctx, a.ContextID, a.DeltaID)
		} else {
			g.Envelope, err = s.Envelope(ctx, a.ContextID, a.EnvelopeID)
		}
		return g, err
	})

// Envelope returns an envelope as it travels; see [content.Store.Envelope].
func (c *Content) Envelope(ctx context.Context, id codec.ContextID, envelope codec.EnvelopeID) ([]byte, error) {
	g, err := call(ctx, c.c, contentGet, contentGetting{dagContext{id}, envelope, codec.DeltaID{}})
	return g.Envelope, err
}

// EnvelopeOf returns the envelope of a delta that counts; see [content.Store.EnvelopeOf].
func (c *Content) EnvelopeOf(ctx context.Context, id codec.ContextID, delta codec.DeltaID) ([]byte, error) {
	g, err := call(ctx, c.c, contentGet, contentGetting{dagContext{id}, codec.EnvelopeID{}, delta})
	return g.Envelope, err
}

// contentAsking are the arguments of Heads.
type contentAsking struct {
	dagContext
	Haves bool
}

// contentHeads are the heads of a context, and what else it has.
type contentHeads struct{ Heads, Haves []codec.EnvelopeID }

var contentHeadsOf = op.New(op.Method{Number: 653, Name: "Content.Heads", Role: access.Reader},
	func(ctx context.Context, s *content.Store, a *contentAsking) (h contentHeads, err error) {
		if a.Haves {
			h.Haves, err = s.Haves(ctx, a.ContextID)
		}
		if err == nil {
			h.Heads, err = s.Heads(ctx, a.ContextID)
		}
		return h, err
	})

// Heads returns the envelopes of the heads of a context; see [content.Store.Heads].
func (c *Content) Heads(ctx context.Context, id codec.ContextID) ([]codec.EnvelopeID, error) {
	h, err := call(ctx, c.c, contentHeadsOf, contentAsking{dagContext{id}, false})
	return h.Heads, err
}

// Haves returns envelopes that count, ever further back; see [content.Store.Haves].
func (c *Content) Haves(ctx context.Context, id codec.ContextID) ([]codec.EnvelopeID, error) {
	h, err := call(ctx, c.c, contentHeadsOf, contentAsking{dagContext{id}, true})
	return h.Haves, err
}

// contentLacking are the arguments of Since.
type contentLacking struct {
	dagContext
	Heads []codec.EnvelopeID
}

var contentSince = op.NewStream(op.Method{Number: 654, Name: "Content.Since", Role: access.Reader},
	func(ctx context.Context, s *content.Store, a *contentLacking) iter.Seq2[contentGot, error] {
		return func(yield func(contentGot, error) bool) {
			for b, err := range s.Since(ctx, a.ContextID, a.Heads) {
				if !yield(contentGot{b}, err) {
					return
				}
			}
		}
	}, func(g *contentGot) int { return len(g.Envelope) + 64 }, op.QueueBytes)

// Since yields the envelopes of what counts and is neither among heads nor what they descend from,
// parents first; see [content.Store.Since].
func (c *Content) Since(ctx context.Context, id codec.ContextID, heads []codec.EnvelopeID) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for g, err := range streamed(ctx, c.c, contentSince, contentLacking{dagContext{id}, heads}) {
			if !yield(g.Envelope, err) {
				return
			}
		}
	}
}

// contentHeld are envelopes that are set aside.
type contentHeld struct{ Held []content.Held }

var contentHeldIn = op.New(op.Method{Number: 655, Name: "Content.Held", Role: access.Reader},
	func(ctx context.Context, s *content.Store, a *dagContext) (h contentHeld, err error) {
		h.Held, err = s.Held(ctx, a.ContextID)
		return h, err
	})

// Held returns what is set aside in a context; see [content.Store.Held].
func (c *Content) Held(ctx context.Context, id codec.ContextID) ([]content.Held, error) {
	h, err := call(ctx, c.c, contentHeldIn, dagContext{id})
	return h.Held, err
}

// contentAdopting are the arguments of Adopt.
type contentAdopting struct {
	dagContext
	EnvelopeIDs []codec.EnvelopeID `wire:"envelope_ids"`
}

var contentAdopt = op.New(op.Method{Number: 656, Name: "Content.Adopt", Role: access.Signer},
	func(ctx context.Context, s *content.Store, a *contentAdopting) (content.Committed, error) {
		return s.Adopt(ctx, a.ContextID, a.EnvelopeIDs)
	})

// Adopt has envelopes count that are set aside; see [content.Store.Adopt].
func (c *Content) Adopt(ctx context.Context, id codec.ContextID, envelopes []codec.EnvelopeID) (content.Committed, error) {
	return call(ctx, c.c, contentAdopt, contentAdopting{dagContext{id}, envelopes})
}

var contentVouch = op.New(op.Method{Number: 657, Name: "Content.Vouch", Role: access.Signer},
	func(ctx context.Context, s *content.Store, a *dagContext) (content.Committed, error) {
		return s.Vouch(ctx, a.ContextID)
	})

// Vouch makes a delta without actions on top of all that counts; see [content.Store.Vouch].
func (c *Content) Vouch(ctx context.Context, id codec.ContextID) (content.Committed, error) {
	return call(ctx, c.c, contentVouch, dagContext{id})
}

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
	// Blobs is the size in bytes of the largest blob that the daemon takes in, of those that contexts and
	// the applications of groups name; 0: none are.
	Blobs uint64
	// Progress is called now and then with what went so far; nil: nobody asks. It is to be quick.
	Progress func(*exchange.Report)
}

// SyncSession is a session of the daemon with another node; rpc/SYNC.md is what the two say. What is
// read is for the other node, and what comes from there is to be written, over whatever carries bytes,
// in order and whole: both at the same time, or the two wait for each other for ever. Read returns
// io.EOF when nothing more is to be sent; then [SyncSession.Report] has how it went. It is to be called
// until it does, also where the other node, which may end first, takes no more.
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
		start := &stoav1.SyncStart{Initiator: o.Initiator, Anyone: o.Anyone, Blobs: o.Blobs}
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
