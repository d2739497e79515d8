package server

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/server/internal/demux"
	"github.com/stoadb/stoa/rpc/server/internal/framed"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// rightsOf returns what the peer who made a call may do.
func rightsOf(ctx context.Context) access.Rights {
	who, _ := framed.PeerFrom(ctx)
	return who.Rights
}

// permit refuses a call that nobody is answered, that its peer has no role for, or that is not about the tenant that
// the peer is bound to.
func (s *Server) permit(ctx context.Context, method string) error {
	who, ok := framed.PeerFrom(ctx)
	if !ok {
		return demux.ErrPeer
	}
	if s.o.Refuse != nil && ours(method) {
		return fault.New(stoav1.ErrorKind_ERROR_KIND_STOPPING, "rpc: unavailable: "+s.o.Refuse().Error())
	}
	if who.Rights.Everything() || !ours(method) {
		return nil
	}
	m, known := s.methods[method]
	switch {
	case !known: // of a service that this server has not
		return status.Error(codes.Unimplemented, "no method "+method)
	case who.Rights.Tenant != "" && !m.Tenant && m.Role != access.Anyone:
		return errBound(who.Rights.Tenant, m.Name+" is not about it")
	case who.Rights.May(m.Role):
		return nil
	case m.Role == access.Secrets:
		return fault.New(stoav1.ErrorKind_ERROR_KIND_SECRET, fmt.Sprintf("rpc: secret: identities are not for uid %d (stoa serve --peer)", who.UID),
			fault.FieldColumn, column.Group.String())
	}
	return errRole(m.Role, who, m.Name)
}

// errRole refuses a peer what takes another role.
func errRole(need access.Role, who demux.Peer, what string, pairs ...string) *fault.Error {
	return fault.New(stoav1.ErrorKind_ERROR_KIND_ROLE,
		fmt.Sprintf("rpc: not for this peer: %s takes the role %s; uid %d has %s (stoa serve --peer)", what, need, who.UID, who.Rights.Roles),
		append(pairs, fault.FieldRole, need.String())...)
}

// checkVerb refuses who does not run the host a verb that the declaration of a collection
// keeps for those who do.
func (s *Server) checkVerb(ctx context.Context, verb, collection string) error {
	who, _ := framed.PeerFrom(ctx)
	if who.Rights.Runs() || s.o.Records == nil {
		return nil
	}
	c, err := s.o.Records.Collection(collection)
	switch {
	case err != nil || !c.ForOperators(verb):
		return nil // the domain refuses what is not there
	case who.Rights.Tenant != "":
		return errBound(who.Rights.Tenant, fmt.Sprintf("%s of the collection %s is for others to do", verb, collection))
	}
	return errRole(access.Operator, who, fmt.Sprintf("%s of the collection %s", verb, collection))
}

func errBound(tenant, reason string) *fault.Error {
	tenant = strings.ToValidUTF8(tenant, "�")
	return fault.New(stoav1.ErrorKind_ERROR_KIND_KV_BOUND,
		fmt.Sprintf("rpc: bound to a tenant: the user of this connection is bound to %q: %s (stoa serve --tenant-map)", tenant, reason),
		fault.FieldTenant, tenant, fault.FieldReason, reason)
}

// tenantOf returns the tenant that a request is about: the one that its user is bound
// to, if any, else the one that it asks for. One that others are bound to is for them and for
// operators.
func (s *Server) tenantOf(ctx context.Context, asked string) (string, error) {
	who, _ := framed.PeerFrom(ctx)
	bound := who.Rights.Tenant
	switch {
	case bound != "" && (asked == "" || asked == bound):
		return bound, nil
	case bound != "":
		return "", errBound(bound, "other tenants are not theirs")
	case !who.Rights.Runs() && s.o.Peers.Bound(asked):
		return "", errRole(access.Operator, who, fmt.Sprintf("the tenant %q, to which others are bound,", asked), fault.FieldTenant, asked)
	}
	return asked, nil
}

// ofTenants are the rows of Generic that the services of tenants keep.
var ofTenants = engine.Prefixed([]byte(kvScopes))

// mayRead returns an error if key is none of col, or if it is not for the peer: secret, or of
// tenants to whom others are bound. asked is col as it came.
func (v *view) mayRead(col column.Column, asked stoav1.Column, key []byte) error {
	if err := checkColumn(asked); err != nil {
		return err
	}
	if _, err := keys.Identify(col, key); err != nil {
		return fault.DescribeRow(err, col, key)
	}
	return v.s.mayKnow(v.peer, col, key)
}

// mayKnow returns an error if a row is not for a peer.
func (s *Server) mayKnow(who demux.Peer, col column.Column, key []byte, pairs ...string) error {
	if keys.Secret(col, key) && !who.Rights.May(access.Secrets) {
		return fault.OfKey(stoav1.ErrorKind_ERROR_KIND_SECRET, col, key, secretText(col, who), pairs...)
	}
	if inScopes(col, key, kvScopes) && !s.seesTenants(who) {
		return errTenantRows(who, pairs...)
	}
	return nil
}

// seesTenants reports whether rows of all tenants are for a peer.
func (s *Server) seesTenants(who demux.Peer) bool { return who.Rights.Runs() || !s.o.Peers.Binds() }

func errTenantRows(who demux.Peer, pairs ...string) *fault.Error {
	return errRole(access.Operator, who, "rows of tenants, to whom others are bound,", append(pairs, fault.FieldColumn, column.Generic.String())...)
}

func secretText(col column.Column, p demux.Peer) string {
	return fmt.Sprintf("rpc: secret: these rows of %s are not for uid %d (stoa serve --peer)", col, p.UID)
}

// mayMeet returns an error if a range meets rows that are not for the peer.
func (s *Server) mayMeet(who demux.Peer, col column.Column, rg engine.Range, pairs ...string) error {
	if col == column.Generic && !s.seesTenants(who) && meets(rg, ofTenants.Start, ofTenants.End) {
		return errTenantRows(who, pairs...)
	}
	if who.Rights.May(access.Secrets) {
		return nil
	}
	for _, secret := range keys.SecretRanges(col) {
		if meets(rg, secret.Start, secret.End) {
			return errSecretRange(col, who, secret, pairs...)
		}
	}
	return nil
}

// meets reports whether a range has a key from start up to and without end.
func meets(rg engine.Range, start, end []byte) bool {
	before := rg.End != nil && bytes.Compare(rg.End, start) <= 0
	after := end != nil && bytes.Compare(rg.Start, end) >= 0
	return !before && !after
}
