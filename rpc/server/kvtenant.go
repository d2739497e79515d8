package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// boundTo returns the tenant that the user who made a call is bound to, if any.
func (s *Server) boundTo(ctx context.Context) (tenant string, bound bool) {
	if len(s.o.Tenants) == 0 {
		return "", false
	}
	who, ok := peerFrom(ctx)
	if !ok {
		return "", false
	}
	tenant, bound = s.o.Tenants[who.UID]
	return tenant, bound
}

// checkBound refuses what a user who is bound to a tenant may not call: rows of
// other tenants are seen by nearly all services but Kv.
func (s *Server) checkBound(ctx context.Context, method string) error {
	tenant, bound := s.boundTo(ctx)
	if !bound || strings.HasPrefix(method, kvPrefix) || !strings.HasPrefix(method, "/stoa.") || method == stoav1.Admin_Status_FullMethodName {
		return nil
	}
	return errBound(tenant, "only the Kv service is theirs")
}

func errBound(tenant, reason string) *rpc.Error {
	tenant = strings.ToValidUTF8(tenant, "�")
	return rpc.NewError(stoav1.ErrorKind_ERROR_KIND_KV_BOUND,
		fmt.Sprintf("rpc: bound to a tenant: the user of this connection is bound to %q: %s (stoa serve --tenant-map)", tenant, reason),
		rpc.FieldTenant, tenant, rpc.FieldReason, reason)
}

// kvRequest is a request that names a tenant.
type kvRequest interface{ GetTenant() []byte }

// tenant returns the tenant that a request is about: the one that its user is
// bound to, if any, else the one that it names.
func (t *kvService) tenant(ctx context.Context, r kvRequest) (string, error) {
	return t.bound(ctx, string(r.GetTenant()))
}

func (t *kvService) bound(ctx context.Context, asked string) (string, error) {
	tenant, bound := t.s.boundTo(ctx)
	if !bound || asked == tenant {
		return asked, nil
	}
	if asked != "" {
		return "", errBound(tenant, "other tenants are not theirs")
	}
	return tenant, nil
}

// operator refuses users who are bound to a tenant.
func (t *kvService) operator(ctx context.Context) error {
	if tenant, bound := t.s.boundTo(ctx); bound {
		return errBound(tenant, "tenants and quotas are for others to change")
	}
	return nil
}

// CreateTenant is Kv.CreateTenant.
func (t *kvService) CreateTenant(ctx context.Context, r *stoav1.KvCreateTenantRequest) (*stoav1.KvCreateTenantResponse, error) {
	if err := t.operator(ctx); err != nil {
		return nil, err
	}
	created, err := t.storage().CreateTenant(ctx, string(r.GetTenant()), kvwire.Quota(r.GetQuota()))
	if err != nil {
		return nil, err
	}
	return &stoav1.KvCreateTenantResponse{Created: created}, nil
}

// DropTenant is Kv.DropTenant.
func (t *kvService) DropTenant(ctx context.Context, r *stoav1.KvDropTenantRequest) (*stoav1.KvDropTenantResponse, error) {
	if err := t.operator(ctx); err != nil {
		return nil, err
	}
	had, existed, err := t.storage().DropTenant(ctx, string(r.GetTenant()))
	if err != nil {
		return nil, err
	}
	return &stoav1.KvDropTenantResponse{Existed: existed, Keys: had.Keys, Bytes: had.Bytes}, nil
}

// ListTenants is Kv.ListTenants.
func (t *kvService) ListTenants(ctx context.Context, r *stoav1.KvListTenantsRequest) (*stoav1.KvListTenantsResponse, error) {
	if err := t.operator(ctx); err != nil {
		return nil, err
	}
	limit := int(r.GetLimit())
	if limit == 0 || limit > rpc.MaxTenants {
		limit = rpc.MaxTenants
	}
	res := &stoav1.KvListTenantsResponse{}
	for name, err := range t.storage().Tenants(ctx, string(r.GetAfter())) {
		if err != nil {
			return nil, err
		}
		if len(res.Tenants) == limit {
			res.Next = res.Tenants[limit-1].Name
			break
		}
		stats, err := t.storage().Stats(name)
		if err != nil {
			return nil, err
		}
		res.Tenants = append(res.Tenants, &stoav1.KvTenant{Name: []byte(name), Stats: kvwire.FromStats(stats)})
	}
	return res, nil
}

// SetQuota is Kv.SetQuota.
func (t *kvService) SetQuota(ctx context.Context, r *stoav1.KvSetQuotaRequest) (*stoav1.KvSetQuotaResponse, error) {
	if err := t.operator(ctx); err != nil {
		return nil, err
	}
	if err := t.storage().SetQuota(ctx, string(r.GetTenant()), kvwire.Quota(r.GetQuota())); err != nil {
		return nil, err
	}
	return &stoav1.KvSetQuotaResponse{}, nil
}
