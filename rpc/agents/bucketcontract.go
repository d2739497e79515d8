package agents

import (
	"context"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// bucketProposal are the arguments of Propose.
type bucketProposal struct {
	op.OfTenant
	Contract []byte
}

var bucketPropose = op.New(op.Method{Number: 1331, Name: "Bucket.Propose", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *bucket.Store, a *bucketProposal) (*bucket.Authority, error) {
		return s.Propose(ctx, a.Tenant, a.Contract)
	})

// Propose has a contract, which is JSON, wait for a decision. It returns contract.ErrContract,
// with all that is wrong, for what is none.
func (b *Buckets) Propose(ctx context.Context, contract []byte) (*bucket.Authority, error) {
	return caller.Call(ctx, b.c, bucketPropose, bucketProposal{b.of.OfTenant, contract})
}

// bucketService are the arguments of what is about a service.
type bucketService struct {
	op.OfTenant
	Service string
}

var bucketPlan = op.New(op.Method{Number: 1332, Name: "Bucket.Plan", Role: access.Reader, Tenant: true, Long: true},
	func(ctx context.Context, s *bucket.Store, a *bucketService) (*bucket.Proposal, error) {
		return s.Plan(ctx, a.Tenant, a.Service)
	})

// Plan returns what accepting the contract of a service that waits changes; see
// [bucket.Store.Plan].
func (b *Buckets) Plan(ctx context.Context, service string) (*bucket.Proposal, error) {
	return caller.Call(ctx, b.c, bucketPlan, bucketService{b.of.OfTenant, service})
}

// bucketDecision are the arguments of Accept and Reject.
type bucketDecision struct {
	op.OfTenant
	Service   string
	Digest    string
	Migration bool
}

var bucketAccept = op.New(op.Method{Number: 1333, Name: "Bucket.Accept", Role: access.Operator},
	func(ctx context.Context, s *bucket.Store, a *bucketDecision) (*bucket.Authority, error) {
		return s.Accept(ctx, a.Tenant, a.Service, a.Digest, a.Migration)
	})

// Accept has the contract that waits, and has a digest, be the one that is desired; migration
// acknowledges a plan that is one. See [bucket.Store.Accept]. It is for those who look after
// tenants, as are the decisions that follow.
func (b *Buckets) Accept(ctx context.Context, service, digest string, migration bool) (*bucket.Authority, error) {
	return caller.Call(ctx, b.c, bucketAccept, bucketDecision{b.of.OfTenant, service, digest, migration})
}

var bucketReject = op.New(op.Method{Number: 1334, Name: "Bucket.Reject", Role: access.Operator},
	func(ctx context.Context, s *bucket.Store, a *bucketDecision) (*bucket.Authority, error) {
		return s.Reject(ctx, a.Tenant, a.Service, a.Digest)
	})

// Reject forgets the contract that waits, and has a digest.
func (b *Buckets) Reject(ctx context.Context, service, digest string) (*bucket.Authority, error) {
	return caller.Call(ctx, b.c, bucketReject, bucketDecision{OfTenant: b.of.OfTenant, Service: service, Digest: digest})
}

var bucketReconcile = op.New(op.Method{Number: 1335, Name: "Bucket.Reconcile", Role: access.Operator},
	func(ctx context.Context, s *bucket.Store, a *bucketService) (bucket.Reconciled, error) {
		return s.Reconcile(ctx, a.Tenant, a.Service)
	})

// Reconcile has the buckets of a service be those of the contract that is desired, all of them
// or none; see [bucket.Store.Reconcile].
func (b *Buckets) Reconcile(ctx context.Context, service string) (bucket.Reconciled, error) {
	return caller.Call(ctx, b.c, bucketReconcile, bucketService{b.of.OfTenant, service})
}

var bucketRevoke = op.New(op.Method{Number: 1336, Name: "Bucket.Revoke", Role: access.Operator},
	func(ctx context.Context, s *bucket.Store, a *bucketService) ([]string, error) {
		return s.Revoke(ctx, a.Tenant, a.Service)
	})

// Revoke removes the buckets of a service and its contracts, and returns the buckets that are
// gone.
func (b *Buckets) Revoke(ctx context.Context, service string) ([]string, error) {
	return caller.Call(ctx, b.c, bucketRevoke, bucketService{b.of.OfTenant, service})
}

var bucketAuthority = op.New(op.Method{Number: 1337, Name: "Bucket.Authority", Role: access.Reader, Tenant: true},
	func(_ context.Context, s *bucket.Store, a *bucketService) (*bucket.Authority, error) {
		return s.Authority(a.Tenant, a.Service)
	})

// Authority returns what the tenant has agreed with a service, or bucket.ErrNotFound.
func (b *Buckets) Authority(ctx context.Context, service string) (*bucket.Authority, error) {
	return caller.Call(ctx, b.c, bucketAuthority, bucketService{b.of.OfTenant, service})
}

var bucketAuthorities = op.New(op.Method{Number: 1338, Name: "Bucket.Authorities", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *bucket.Store, a *op.OfTenant) ([]*bucket.Authority, error) {
		return s.Authorities(ctx, a.Tenant)
	})

// Authorities returns what the tenant has agreed with all services, in order of their names.
func (b *Buckets) Authorities(ctx context.Context) ([]*bucket.Authority, error) {
	return caller.Call(ctx, b.c, bucketAuthorities, b.of.OfTenant)
}
