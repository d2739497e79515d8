package server

import (
	"context"
	"math"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Invite is Namespace.Invite.
func (t *namespaceService) Invite(ctx context.Context, r *stoav1.NamespaceInviteRequest) (*stoav1.NamespaceInviteResponse, error) {
	g, err := op.ParseID[codec.GroupID]("group_id", r.GetGroupId())
	if err != nil {
		return nil, field(err)
	}
	invite := namespace.Invite{GroupID: g}
	if invite.Role, err = govwire.Role("role", r.GetRole()); err != nil {
		return nil, field(err)
	}
	if len(r.GetInvitee()) > 0 {
		invite.Invitee.Valid = true
		if invite.Invitee.V, err = op.ParseID[codec.Identity]("invitee", r.GetInvitee()); err != nil {
			return nil, field(err)
		}
	}
	if r.GetExpiresAt() > math.MaxInt64 {
		return nil, badField("expires_at", "no time that a clock reaches")
	}
	invite.Expires = time.Unix(int64(r.GetExpiresAt()), 0)
	b, err := t.store().Invite(ctx, invite)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	v, err := namespace.ParseInvitation(b)
	if err != nil {
		return nil, err
	}
	id, err := group.InvitationID(&v)
	return &stoav1.NamespaceInviteResponse{Invitation: b, InvitationId: op.Bytes(id)}, err
}

// Join is Namespace.Join.
func (t *namespaceService) Join(ctx context.Context, r *stoav1.NamespaceJoinRequest) (*stoav1.NamespaceJoinResponse, error) {
	request, err := t.store().Join(ctx, r.GetInvitation())
	if err != nil {
		return nil, err
	}
	v, err := namespace.ParseInvitation(r.GetInvitation())
	if err != nil {
		return nil, err
	}
	id, err := t.store().Identity(v.NamespaceID)
	if err != nil {
		return nil, aboutNamespace(err, v.NamespaceID)
	}
	return &stoav1.NamespaceJoinResponse{Request: request, NamespaceId: op.Bytes(v.NamespaceID), Identity: op.Bytes(id)}, nil
}

// Admit is Namespace.Admit.
func (t *namespaceService) Admit(ctx context.Context, r *stoav1.NamespaceAdmitRequest) (*stoav1.NamespaceAdmitResponse, error) {
	done, err := t.store().Admit(ctx, r.GetRequest())
	if err != nil {
		return nil, err
	}
	return &stoav1.NamespaceAdmitResponse{Proposed: govwire.FromProposed(&done)}, nil
}
