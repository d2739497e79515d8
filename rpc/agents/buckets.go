package agents

import (
	"context"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Buckets are the buckets of a tenant, and the contracts by which services have theirs. Beside
// the errors of calls methods return [*bucket.Error], and [*contract.Error] for what is no
// contract. It is a view of its client, and as safe for concurrent use.
//
// The buckets are in this file, the contracts in bucketcontract.go.
type Buckets struct {
	c  caller.Caller
	of op.OfService
}

// NewBuckets returns the buckets of a tenant; "" is the tenant that the daemon binds this user
// to.
func NewBuckets(c caller.Caller, tenant string) *Buckets {
	return &Buckets{c, op.OfService{OfTenant: op.Of(tenant)}}
}

// Service returns the buckets as a service has them: those that its contract declares, which
// are its own, and no others.
func (b *Buckets) Service(name string) *Buckets {
	of := b.of
	of.Service = name
	return &Buckets{b.c, of}
}

// Bucket returns the bucket that has a name.
func (b *Buckets) Bucket(name string) *Bucket {
	return &Bucket{b.c, inBucket{OfService: b.of, Bucket: name}}
}

// Alias returns the bucket that the service has under an alias: of the contract that is
// desired, once its buckets are there.
func (b *Buckets) Alias(alias string) *Bucket {
	return &Bucket{b.c, inBucket{OfService: b.of, Alias: alias}}
}

// bucketConfig are the arguments of Create and Alter.
type bucketConfig struct {
	op.OfTenant
	Config bucket.Config
}

func (b *Buckets) config(c bucket.Config) (bucketConfig, error) {
	if err := bucket.CheckTTL(c.TTL); err != nil {
		return bucketConfig{}, err
	}
	return bucketConfig{b.of.OfTenant, c}, nil
}

var bucketCreate = op.New(op.Method{Number: 1321, Name: "Bucket.Create", Role: access.Operator},
	func(ctx context.Context, s *bucket.Store, a *bucketConfig) (bucket.Info, error) {
		return s.Create(ctx, a.Tenant, a.Config)
	})

// Create makes a bucket. It returns bucket.ErrExists for a name that one has. It is for those
// who look after tenants: services have buckets by their contracts.
func (b *Buckets) Create(ctx context.Context, c bucket.Config) (bucket.Info, error) {
	a, err := b.config(c)
	if err != nil {
		return bucket.Info{}, err
	}
	return caller.Call(ctx, b.c, bucketCreate, a)
}

var bucketAlter = op.New(op.Method{Number: 1322, Name: "Bucket.Alter", Role: access.Operator},
	func(ctx context.Context, s *bucket.Store, a *bucketConfig) (bucket.Info, error) {
		return s.Alter(ctx, a.Tenant, a.Config)
	})

// Alter has a bucket be as c says from then on, whose name it has; see [bucket.Store.Alter]. It
// is for those who look after tenants.
func (b *Buckets) Alter(ctx context.Context, c bucket.Config) (bucket.Info, error) {
	a, err := b.config(c)
	if err != nil {
		return bucket.Info{}, err
	}
	return caller.Call(ctx, b.c, bucketAlter, a)
}

// bucketDropping are the arguments of Drop.
type bucketDropping struct {
	op.OfTenant
	Bucket string
}

var bucketDrop = op.New(op.Method{Number: 1323, Name: "Bucket.Drop", Role: access.Operator},
	func(ctx context.Context, s *bucket.Store, a *bucketDropping) (op.Nothing, error) {
		return op.Nothing{}, s.Drop(ctx, a.Tenant, a.Bucket)
	})

// Drop removes a bucket and everything in it. It is for those who look after tenants.
func (b *Buckets) Drop(ctx context.Context, name string) error {
	_, err := caller.Call(ctx, b.c, bucketDrop, bucketDropping{b.of.OfTenant, name})
	return err
}

var bucketList = op.New(op.Method{Number: 1324, Name: "Bucket.List", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *bucket.Store, a *op.OfTenant) ([]bucket.Info, error) {
		return s.List(ctx, a.Tenant)
	})

// List returns the buckets of the tenant, in order of their names.
func (b *Buckets) List(ctx context.Context) ([]bucket.Info, error) {
	return caller.Call(ctx, b.c, bucketList, b.of.OfTenant)
}
