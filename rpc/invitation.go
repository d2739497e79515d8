package rpc

import (
	"context"
	"math"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// inviting are the arguments of Invite.
type inviting struct {
	inGroup
	Role      codec.GroupMemberRole
	Invitee   codec.Option[codec.Identity]
	ExpiresAt uint64 // unix seconds
}

// invited is an invitation, and its id.
type invited struct {
	Invitation   []byte
	InvitationID codec.Hash `wire:",hash"`
}

var nsInvite = op.New(op.Method{Number: 318, Name: "Namespace.Invite", Role: access.Signer},
	func(ctx context.Context, s *namespace.Store, a *inviting) (i invited, err error) {
		if a.ExpiresAt > math.MaxInt64 {
			return i, &op.FieldError{Field: "expires_at", Reason: "no time that a clock reaches"}
		}
		i.Invitation, err = s.Invite(ctx, namespace.Invite{GroupID: a.GroupID, Role: a.Role, Invitee: a.Invitee, Expires: time.Unix(int64(a.ExpiresAt), 0)})
		if err != nil {
			return i, err
		}
		v, err := namespace.ParseInvitation(i.Invitation)
		if err == nil {
			i.InvitationID, err = group.InvitationID(&v)
		}
		return i, err
	})

// Invite returns an invitation by the daemon, as bytes for the one who is invited, or
// [namespace.ErrNotEffective] where the daemon could admit nobody; see
// [namespace.Store.Invite].
func (n *Namespaces) Invite(ctx context.Context, i namespace.Invite) ([]byte, error) {
	a := inviting{inGroup{i.GroupID}, i.Role, i.Invitee, uint64(max(i.Expires.Unix(), 0))}
	r, err := call(ctx, n.c, nsInvite, a)
	return r.Invitation, err
}

// Joining is a request to join a namespace.
type Joining struct {
	Request   []byte         // for a member who admits it
	Namespace codec.GroupID  `wire:"namespace_id"`
	Identity  codec.Identity // who joins: the daemon
}

// joining are the arguments of Join.
type joining struct {
	Invitation []byte
	to         codec.GroupID
}

// About returns the namespace of the invitation, once it is known.
func (a *joining) About() (name, value string) {
	if a.to.IsZero() {
		return "", ""
	}
	return fault.FieldNamespace, a.to.String()
}

var nsJoin = op.New(op.Method{Number: 319, Name: "Namespace.Join", Role: access.Signer},
	func(ctx context.Context, s *namespace.Store, a *joining) (j Joining, err error) {
		if j.Request, err = s.Join(ctx, a.Invitation); err != nil {
			return j, err
		}
		v, err := namespace.ParseInvitation(a.Invitation)
		if err != nil {
			return j, err
		}
		j.Namespace, a.to = v.NamespaceID, v.NamespaceID
		j.Identity, err = s.Identity(v.NamespaceID)
		return j, err
	})

// Join makes, where there is none, the identity of the daemon in the namespace of an
// invitation, and returns its request to join, as bytes for a member who admits it;
// see [namespace.Store.Join].
func (n *Namespaces) Join(ctx context.Context, invitation []byte) (Joining, error) {
	return call(ctx, n.c, nsJoin, joining{Invitation: invitation})
}

var nsAdmit = op.New(op.Method{Number: 320, Name: "Namespace.Admit", Role: access.Signer},
	func(ctx context.Context, s *namespace.Store, request *[]byte) (namespace.Proposed, error) {
		return s.Admit(ctx, *request)
	})

// Admit proposes that the one joins whose request this is, and sends the key of the
// group along, if the daemon has it; see [namespace.Store.Admit].
func (n *Namespaces) Admit(ctx context.Context, request []byte) (namespace.Proposed, error) {
	return call(ctx, n.c, nsAdmit, request)
}
