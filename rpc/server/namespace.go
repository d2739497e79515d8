package server

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// namespaceService is the Namespace service: what it does is namespace.Store's. This
// node's identities are in this file, ops on their way in in namespaceapply.go and
// namespacepropose.go, and what is read of them in namespaceread.go.
type namespaceService struct {
	stoav1.UnimplementedNamespaceServer
	s *Server
}

func (t *namespaceService) store() *namespace.Store { return t.s.o.Namespaces }

// namespaceID returns the namespace that a request names.
func namespaceID(r interface{ GetNamespaceId() []byte }) (codec.GroupID, error) {
	id, err := op.ParseID[codec.GroupID]("namespace_id", r.GetNamespaceId())
	return id, field(err)
}

// NewIdentity is Namespace.NewIdentity.
func (t *namespaceService) NewIdentity(_ context.Context, r *stoav1.NamespaceNewIdentityRequest) (*stoav1.NamespaceNewIdentityResponse, error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, err
	}
	id, err := t.store().NewIdentity(ns)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	return &stoav1.NamespaceNewIdentityResponse{Identity: op.Bytes(id)}, nil
}

// GetIdentity is Namespace.GetIdentity.
func (t *namespaceService) GetIdentity(_ context.Context, r *stoav1.NamespaceGetIdentityRequest) (*stoav1.NamespaceGetIdentityResponse, error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, err
	}
	id, err := t.store().Identity(ns)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	return &stoav1.NamespaceGetIdentityResponse{Identity: op.Bytes(id)}, nil
}

// ExportIdentity is Namespace.ExportIdentity.
func (t *namespaceService) ExportIdentity(ctx context.Context, r *stoav1.NamespaceExportIdentityRequest) (*stoav1.NamespaceExportIdentityResponse, error) {
	ns, err := namespaceID(r)
	if err == nil {
		err = t.s.maySeal(ctx)
	}
	if err != nil {
		return nil, err
	}
	v, err := t.store().ExportIdentity(ns)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	sealed, err := namespace.SealIdentity(t.s.o.Rand, ns, v, r.GetPassphrase())
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	return &stoav1.NamespaceExportIdentityResponse{Sealed: sealed}, nil
}

// ImportIdentity is Namespace.ImportIdentity.
func (t *namespaceService) ImportIdentity(ctx context.Context, r *stoav1.NamespaceImportIdentityRequest) (*stoav1.NamespaceImportIdentityResponse, error) {
	ns, err := namespaceID(r)
	if err == nil {
		err = t.s.maySeal(ctx)
	}
	if err != nil {
		return nil, err
	}
	v, err := namespace.OpenIdentity(ns, r.GetSealed(), r.GetPassphrase())
	if err == nil {
		err = t.store().ImportIdentity(ns, v)
	}
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	return &stoav1.NamespaceImportIdentityResponse{Identity: op.Bytes(v.PublicKey)}, nil
}

// Create is Namespace.Create.
func (t *namespaceService) Create(ctx context.Context, r *stoav1.NamespaceCreateRequest) (*stoav1.NamespaceCreateResponse, error) {
	var c namespace.Create
	var err error
	if c.AppKey, err = op.ParseOptional[codec.Hash]("app_key", r.GetAppKey()); err != nil {
		return nil, field(err)
	}
	if c.TargetApplicationID, err = op.ParseOptional[codec.ApplicationID]("target_application_id", r.GetTargetApplicationId()); err != nil {
		return nil, field(err)
	}
	if c.UpgradePolicy, err = govwire.Policy("upgrade_policy", r.GetUpgradePolicy()); err != nil {
		return nil, field(err)
	}
	if r.GetName() != "" {
		c.Alias = codec.Some(codec.AliasName(r.GetName()))
	}
	ns, done, err := t.store().Create(ctx, c)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	return &stoav1.NamespaceCreateResponse{NamespaceId: op.Bytes(ns), Proposed: govwire.FromProposed(&done)}, nil
}
