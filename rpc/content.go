package rpc

import (
	"context"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/rpc/access"
	_ "github.com/stoadb/stoa/rpc/internal/contentwire" // what types of package content are in messages
	"github.com/stoadb/stoa/rpc/internal/op"
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
