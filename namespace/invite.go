package namespace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

var (
	// ErrExpired is returned for an invitation that has expired by this node's clock.
	ErrExpired = errors.New("namespace: the invitation has expired")
	// ErrNotInvited is returned for what is no invitation, or no request to join by one.
	ErrNotInvited = errors.New("namespace: not an invitation")
)

// Invite is what an invitation says.
type Invite struct {
	GroupID codec.GroupID
	Role    codec.GroupMemberRole
	Invitee codec.Option[codec.Identity] // none: whoever has it
	Expires time.Time                    // in whole seconds
}

// Invite returns an invitation by this node, as bytes for the one who is invited, or
// [ErrNotEffective] where this node could admit nobody.
func (s *Store) Invite(ctx context.Context, i Invite) ([]byte, error) {
	ns, err := s.home(i.GroupID)
	if err != nil {
		return nil, err
	}
	identity, err := s.ExportIdentity(ns)
	if err != nil {
		return nil, err
	}
	v := codec.Invitation{NamespaceID: ns, GroupID: i.GroupID, Role: i.Role, Inviter: identity.PublicKey, Invitee: i.Invitee,
		ExpiresAt: uint64(max(i.Expires.Unix(), 0))}
	if _, err := io.ReadFull(s.options.Rand, v.Nonce[:]); err != nil {
		return nil, err
	}
	if err := group.SignInvitation(&v, identity.PrivateKey); err != nil {
		return nil, err
	}
	member := v.Invitee.V
	if !v.Invitee.Valid {
		member = codec.Identity{1}
	}
	var nothing Proposed // an invitation is no op, so that many heads stay as they are
	err = s.change(ctx, ns, &nothing, func(p *proposing) error {
		if i.GroupID != ns { // whether a future member is one of the namespace is not known yet
			return nil
		}
		op := &codec.SignedNamespaceOp{Parents: p.c.ledger.Heads(), Signer: p.c.self(), Nonce: p.c.everything().LastNonce(p.c.self()) + 1}
		r := codec.RootOp{Kind: codec.RootMemberJoined, Invitation: v, Member: member}
		return p.try(op, group.Op{Root: &r}, func() {})
	})
	if err != nil {
		return nil, err
	}
	return v.AppendBinary(nil)
}

// ParseInvitation returns what [Store.Invite] has returned, or [ErrNotInvited].
func ParseInvitation(b []byte) (codec.Invitation, error) {
	v, err := codec.Invitation{}.Decode(b)
	if err == nil {
		err = group.VerifyInvitation(&v)
	}
	if err != nil {
		return v, fmt.Errorf("%w: %w", ErrNotInvited, err)
	}
	return v, nil
}

// Join makes, where there is none, the identity of this node in the namespace of an
// invitation, and returns its request to join, as bytes for a member who admits it:
//
//	invitation ‖ member 32 ‖ the member's signature 64
func (s *Store) Join(ctx context.Context, invitation []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := ParseInvitation(invitation)
	if err != nil {
		return nil, err
	}
	identity, err := s.ExportIdentity(v.NamespaceID)
	if errors.Is(err, ErrNoIdentity) {
		if _, err = s.NewIdentity(v.NamespaceID); err == nil {
			identity, err = s.ExportIdentity(v.NamespaceID)
		}
	}
	if err != nil {
		return nil, err
	}
	if v.Invitee.Valid && v.Invitee.V != identity.PublicKey {
		return nil, fmt.Errorf("%w: it is for %s", ErrNotInvited, v.Invitee.V)
	}
	sig, err := group.SignJoin(&v, identity.PrivateKey)
	if err != nil {
		return nil, err
	}
	return append(append(append([]byte(nil), invitation...), identity.PublicKey[:]...), sig[:]...), nil
}

// Admit proposes that the one joins whose request this is, and sends the key of the
// group along, if this node has it. It returns [ErrNotInvited], [ErrExpired], or an error
// as [Store.Propose] has it. The clock of this node is the only one that is asked.
func (s *Store) Admit(ctx context.Context, request []byte) (done Proposed, err error) {
	r, err := parseRequest(request)
	if err != nil {
		return done, err
	}
	v := &r.Invitation
	if now := s.options.Now().Unix(); now < 0 || uint64(now) >= v.ExpiresAt {
		return done, fmt.Errorf("%w: at %s, and it is %s", ErrExpired, instant(v.ExpiresAt), instant(uint64(max(now, 0))))
	}
	return s.Propose(ctx, v.NamespaceID, Proposal{Root: &r})
}

// instant returns seconds since 1970 as people read them; what no year of four digits has
// stays a number.
func instant(s uint64) string {
	const year10000 = 253402300800
	if s >= year10000 {
		return fmt.Sprint(s)
	}
	return time.Unix(int64(s), 0).UTC().Format(time.RFC3339)
}

// ParseRequest returns the invitation that a request of [Store.Join] answers, and who
// has signed it; or [ErrNotInvited].
func ParseRequest(b []byte) (codec.Invitation, codec.Identity, error) {
	r, err := parseRequest(b)
	return r.Invitation, r.Member, err
}

// parseRequest returns the op that a request asks for.
func parseRequest(b []byte) (r codec.RootOp, err error) {
	const tail = len(codec.Identity{}) + len(codec.Signature{})
	if len(b) < tail {
		return r, fmt.Errorf("%w: %d bytes", ErrNotInvited, len(b))
	}
	at := len(b) - tail
	v, err := ParseInvitation(b[:at])
	if err != nil {
		return r, err
	}
	r = codec.RootOp{Kind: codec.RootMemberJoined, Invitation: v, Member: codec.Identity(b[at:]),
		JoinerSignature: codec.Signature(b[at+len(codec.Identity{}):])}
	if err := group.VerifyJoin(&v, r.Member, r.JoinerSignature); err != nil {
		return r, fmt.Errorf("%w: %w", ErrNotInvited, err)
	}
	return r, nil
}
