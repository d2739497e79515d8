package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// boundTo returns the tenant that the user who made a call is bound to, if any.
func (s *Server) boundTo(ctx context.Context) (tenant string, bound bool) {
	if len(s.o.Tenants) == 0 {
		return "", false
	}
	who, ok := framed.PeerFrom(ctx)
	if !ok {
		return "", false
	}
	tenant, bound = s.o.Tenants[who.UID]
	return tenant, bound
}

// checkBound refuses what a user who is bound to a tenant may not call: rows of
// other tenants are seen by nearly all services but Kv, Record and Policy.
func (s *Server) checkBound(ctx context.Context, method string) error {
	tenant, bound := s.boundTo(ctx)
	if !bound || !ours(method) || s.methods[method].Access.Bound() {
		return nil
	}
	return errBound(tenant, "only the services Kv, Record and Policy are theirs")
}

// checkVerb refuses a user who is bound to a tenant a verb that the declaration of a
// collection keeps for those who run the host.
func (s *Server) checkVerb(ctx context.Context, verb, collection string) error {
	tenant, bound := s.boundTo(ctx)
	if !bound || s.o.Records == nil {
		return nil
	}
	if c, err := s.o.Records.Collection(collection); err != nil || !c.ForOperators(verb) {
		return nil // the domain refuses what is not there
	}
	return errBound(tenant, fmt.Sprintf("%s of the collection %s is for others to do", verb, collection))
}

func errBound(tenant, reason string) *fault.Error {
	tenant = strings.ToValidUTF8(tenant, "�")
	return fault.New(stoav1.ErrorKind_ERROR_KIND_KV_BOUND,
		fmt.Sprintf("rpc: bound to a tenant: the user of this connection is bound to %q: %s (stoa serve --tenant-map)", tenant, reason),
		fault.FieldTenant, tenant, fault.FieldReason, reason)
}

// tenantOf returns the tenant that a request is about: the one that its user is bound
// to, if any, else the one that it asks for.
func (s *Server) tenantOf(ctx context.Context, asked string) (string, error) {
	tenant, bound := s.boundTo(ctx)
	if !bound || asked == tenant {
		return asked, nil
	}
	if asked != "" {
		return "", errBound(tenant, "other tenants are not theirs")
	}
	return tenant, nil
}
