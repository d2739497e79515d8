// Package envelope makes and opens deltas as they travel between members of a group: signed
// by their author, sealed for the members, and tied to what their author knew of governance.
// The README has the bytes.
package envelope

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/group"
)

// What is signed or derived here begins with one of these; none begins another.
const (
	domainEnvelope = "stoa.delta.envelope.v1" // an envelope
	domainSealing  = "stoa.delta.sealing.v1"  // what the key of an envelope is derived from
	domainNonce    = "stoa.delta.nonce.v1"    // what its nonce is derived from
	domainAuthor   = "stoa.author.v1"         // the clock of a delta of an author at a place
)

// Limits of an envelope.
const (
	MaxCut     = 64 // ops
	MaxParents = 64 // envelopes
	MaxSealed  = dag.MaxDelta + chacha20poly1305.Overhead
)

var (
	// ErrMalformed is returned for an envelope that is none, whoever judges it.
	ErrMalformed = errors.New("envelope: malformed")
	// ErrSignature is returned for one that its author has not signed.
	ErrSignature = errors.New("envelope: not signed by its author")
	// ErrOpen is returned for one that the key does not open.
	ErrOpen = errors.New("envelope: does not open")
	// ErrDelta is returned for one in which something else is than its clear part says.
	ErrDelta = errors.New("envelope: its delta is not what it says")
)

// Node returns the node whose clock the delta of an author at a place has. It ties a delta to what
// is clear of its envelope, so that nobody sends another's as his own, and there are no two
// envelopes of one delta.
func Node(author codec.Identity, context codec.ContextID, at Place) (codec.NodeID, error) {
	e, err := of(&codec.DeltaEnvelope{ContextID: context, Author: author, Cut: at.Cut, KeyOp: at.KeyOp, Parents: at.Parents})
	if err != nil {
		return codec.NodeID{}, err
	}
	return e.node(), nil
}

// node returns that of the envelope.
func (e *Envelope) node() codec.NodeID {
	h := sha256.New()
	h.Write([]byte(domainAuthor))
	h.Write(e.bound()[len(domainEnvelope) : len(e.bound())-len(e.Nonce)])
	sum := h.Sum(nil)
	return codec.NodeID{Lo: binary.LittleEndian.Uint64(sum), Hi: binary.LittleEndian.Uint64(sum[8:])}
}

// nonceOf returns the nonce under which plain is sealed with a secret.
func (e *Envelope) nonceOf(secret, plain []byte) (nonce [chacha20poly1305.NonceSizeX]byte) {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(domainNonce))
	mac.Write(e.bound()[:len(e.bound())-len(e.Nonce)])
	mac.Write(plain)
	copy(nonce[:], mac.Sum(nil))
	return nonce
}

// Envelope is a sound one. It is not to be modified.
type Envelope struct {
	codec.DeltaEnvelope
	ID    codec.EnvelopeID // of all but the signature
	bytes []byte           // the domain, and the envelope as it travels
}

// Bytes returns the envelope as it travels; they are not to be modified.
func (e *Envelope) Bytes() []byte { return e.bytes[len(domainEnvelope):] }

// signed returns what the author signs.
func (e *Envelope) signed() []byte { return e.bytes[:len(e.bytes)-len(e.Signature)] }

// bound returns what the sealed bytes are bound to: the domain, and all before them.
func (e *Envelope) bound() []byte {
	const length = 4 // before the sealed bytes
	return e.signed()[:len(e.signed())-len(e.Sealed)-length]
}

// of returns v as an Envelope.
func of(v *codec.DeltaEnvelope) (*Envelope, error) {
	b, err := v.AppendBinary([]byte(domainEnvelope))
	if err != nil {
		return nil, err
	}
	return &Envelope{DeltaEnvelope: *v, bytes: b}, nil
}

// sealing returns with what deltas are sealed for the holders of a group key.
func sealing(key codec.Secret) (secret []byte, aead cipher.AEAD, err error) {
	if secret, err = hkdf.Key(sha256.New, key[:], nil, domainSealing, chacha20poly1305.KeySize); err != nil {
		return nil, nil, err
	}
	aead, err = chacha20poly1305.NewX(secret)
	return secret, aead, err
}

// Place is where in the history of a context, and of its governance, a delta is.
type Place struct {
	Cut     []codec.OpID       // the heads of the governance DAG, in ascending order
	Parents []codec.EnvelopeID // of the delta's parents, in ascending order
	KeyOp   codec.OpID         // the op that introduces the group's present key
}

// Seal puts a delta into an envelope, which the holder of seed signs, and whoever holds the
// group's key opens. The delta must have the clock of [Node]. The same is sealed into the
// same bytes.
func Seal(d *dag.Delta, at Place, key, seed codec.Secret) (*Envelope, error) {
	plain, err := d.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	e, err := sealed(plain, &codec.DeltaEnvelope{ContextID: d.Context, Author: group.IdentityOf(seed), Cut: at.Cut, KeyOp: at.KeyOp, Parents: at.Parents}, key)
	if err != nil {
		return nil, err
	}
	if d.HLC.ID != e.node() {
		return nil, fmt.Errorf("%w: the clock of another", ErrDelta)
	}
	signature := group.Sign(seed, "", e.signed())
	copy(e.bytes[len(e.signed()):], signature[:])
	return Parse(e.Bytes())
}

// Rebuild returns the envelope of which v has all but the sealed bytes, from the delta that was in
// it and the group's key. It is the one that was opened if these are.
func Rebuild(d *dag.Delta, v codec.DeltaEnvelope, key codec.Secret) (*Envelope, error) {
	plain, err := d.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	e, err := sealed(plain, &v, key)
	if err != nil {
		return nil, err
	}
	return Parse(e.Bytes())
}

// sealed returns the envelope with the clear fields of v, and its signature, that seals plain.
func sealed(plain []byte, v *codec.DeltaEnvelope, key codec.Secret) (*Envelope, error) {
	secret, aead, err := sealing(key)
	if err != nil {
		return nil, err
	}
	v.Sealed = make([]byte, len(plain)+aead.Overhead())
	e, err := of(v)
	if err != nil {
		return nil, err
	}
	// What is not known yet is filled in in its bytes.
	signed, bound := e.signed(), e.bound()
	nonce := e.nonceOf(secret, plain)
	copy(bound[len(bound)-len(nonce):], nonce[:])
	aead.Seal(signed[len(signed)-len(v.Sealed):][:0], nonce[:], plain, bound)
	return e, nil
}

// Parse returns the envelope whose bytes are exactly b, of which it keeps a copy, if its form
// is sound: else [ErrMalformed] or a [codec.ErrMalformed]. It does not look at the signature.
func Parse(b []byte) (*Envelope, error) {
	v, err := codec.DeltaEnvelope{}.Decode(b)
	if err != nil {
		return nil, err
	}
	e, err := of(&v)
	if err != nil {
		return nil, err
	}
	e.ID = sha256.Sum256(e.signed())
	return e, e.check()
}

// check reports what is unsound about the form of the envelope, whoever looks at it.
func (e *Envelope) check() error {
	switch {
	case len(e.Cut) == 0:
		return fmt.Errorf("%w: its cut is empty", ErrMalformed)
	case len(e.Cut) > MaxCut:
		return fmt.Errorf("%w: a cut of %d ops, where %d are most", ErrMalformed, len(e.Cut), MaxCut)
	case !codec.Ascending(e.Cut):
		return fmt.Errorf("%w: the ops of its cut are not in order", ErrMalformed)
	case len(e.Parents) > MaxParents:
		return fmt.Errorf("%w: %d parents, where %d are most", ErrMalformed, len(e.Parents), MaxParents)
	case !codec.Ascending(e.Parents):
		return fmt.Errorf("%w: its parents are not in order", ErrMalformed)
	case len(e.Sealed) <= chacha20poly1305.Overhead || len(e.Sealed) > MaxSealed:
		return fmt.Errorf("%w: %d sealed bytes, where %d to %d may be", ErrMalformed, len(e.Sealed), chacha20poly1305.Overhead+1, MaxSealed)
	}
	return nil
}

// Verify returns [ErrSignature] unless the author has signed the envelope. v, which may be nil, keeps
// what it has worked out of authors.
func (e *Envelope) Verify(v *group.Verifier) error {
	if err := v.VerifyMessage(e.Author, e.signed(), e.Signature); err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return nil
}

// Open returns the delta in an envelope that is verified. It returns [ErrOpen] where the
// group's key is another, or the bytes are none of its; and [ErrDelta] where what is inside is
// no delta of that author and context with so many parents. That those are the deltas in the
// envelopes of Parents is for the caller to compare.
func (e *Envelope) Open(key codec.Secret) (*dag.Delta, error) {
	secret, aead, err := sealing(key)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, e.Nonce[:], e.Sealed, e.bound())
	if err != nil {
		return nil, ErrOpen
	}
	d, err := dag.ParseDelta(plain)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDelta, err)
	case d.Context != e.ContextID:
		return nil, fmt.Errorf("%w: of another context", ErrDelta)
	case d.HLC.ID != e.node():
		return nil, fmt.Errorf("%w: the clock of another", ErrDelta)
	case e.Nonce != e.nonceOf(secret, plain):
		return nil, fmt.Errorf("%w: the nonce is not that of the delta", ErrDelta)
	case len(d.Parents) != len(e.Parents):
		return nil, fmt.Errorf("%w: %d parents, where its clear part names %d", ErrDelta, len(d.Parents), len(e.Parents))
	}
	return d, nil
}
