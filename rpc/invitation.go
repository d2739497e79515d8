package rpc

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Invite is namespace.Store's.
func (n *Namespaces) Invite(ctx context.Context, i namespace.Invite) ([]byte, error) {
	client, cancel := n.until(ctx)
	defer cancel()
	ask := &stoav1.NamespaceInviteRequest{GroupId: i.GroupID[:], Role: govwire.FromRole(i.Role), ExpiresAt: uint64(max(i.Expires.Unix(), 0))}
	if i.Invitee.Valid {
		ask.Invitee = op.Bytes(i.Invitee.V)
	}
	res, err := dagCall(client, "invite", n.c.namespace.Invite, ask)
	return res.GetInvitation(), err
}

// Joining is a request to join a namespace.
type Joining struct {
	Request   []byte // for a member who admits it
	Namespace codec.GroupID
	Identity  codec.Identity // who joins: the daemon
}

// Join is namespace.Store's.
func (n *Namespaces) Join(ctx context.Context, invitation []byte) (j Joining, err error) {
	client, cancel := n.until(ctx)
	defer cancel()
	res, err := dagCall(client, "join", n.c.namespace.Join, &stoav1.NamespaceJoinRequest{Invitation: invitation})
	if err != nil {
		return j, err
	}
	j.Request = res.GetRequest()
	if j.Namespace, err = op.ParseID[codec.GroupID]("namespace_id", res.GetNamespaceId()); err == nil {
		j.Identity, err = op.ParseID[codec.Identity]("identity", res.GetIdentity())
	}
	return j, odd("join", err)
}

// Admit is namespace.Store's.
func (n *Namespaces) Admit(ctx context.Context, request []byte) (namespace.Proposed, error) {
	client, cancel := n.until(ctx)
	defer cancel()
	res, err := dagCall(client, "admit", n.c.namespace.Admit, &stoav1.NamespaceAdmitRequest{Request: request})
	if err != nil {
		return namespace.Proposed{}, err
	}
	done, err := govwire.Proposed(res.GetProposed())
	return done, odd("admit", err)
}
