// Package buckettest tests that buckets, and the contracts by which services have them, are what
// the rows of [kv/bucket] ask for, however they are reached.
//
// Start at Run. One suite serves both: what holds in process holds for the client of
// package rpc.
//
// [kv/bucket]: https://github.com/stoadb/stoa/tree/main/kv/bucket#tests-of-the-rows
package buckettest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/bucket"
)

// Buckets are what is tested of [bucket.Store], of the tenant t and as an operator.
type Buckets interface {
	making
	contracts
	// Named returns a bucket, which is looked up whenever something is asked of it.
	Named(n bucket.Name) Bucket
}

type making interface {
	Create(ctx context.Context, c bucket.Config) (bucket.Info, error)
	Alter(ctx context.Context, c bucket.Config) (bucket.Info, error)
	Drop(ctx context.Context, name string) error
	List(ctx context.Context) ([]bucket.Info, error)
}

type contracts interface {
	Propose(ctx context.Context, text []byte) (*bucket.Authority, error)
	Plan(ctx context.Context, service string) (*bucket.Proposal, error)
	Accept(ctx context.Context, service, digest string, migration bool) (*bucket.Authority, error)
	Reject(ctx context.Context, service, digest string) (*bucket.Authority, error)
	Reconcile(ctx context.Context, service string) (bucket.Reconciled, error)
	Revoke(ctx context.Context, service string) ([]string, error)
	Authority(ctx context.Context, service string) (*bucket.Authority, error)
	Authorities(ctx context.Context) ([]*bucket.Authority, error)
}

// Bucket is what is tested of [bucket.Bucket].
type Bucket interface {
	writing
	reading
}

type writing interface {
	Put(ctx context.Context, key string, value []byte, o bucket.PutOptions) (uint64, error)
	Create(ctx context.Context, key string, value []byte, o bucket.PutOptions) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64, o bucket.PutOptions) (uint64, error)
	Merge(ctx context.Context, key string, patch []byte, o bucket.MergeOptions) (uint64, error)
	Delete(ctx context.Context, key string, o bucket.DeleteOptions) (uint64, error)
	Purge(ctx context.Context, key string, o bucket.DeleteOptions) (uint64, error)
	Touch(ctx context.Context, key string, ttl time.Duration, d engine.Durability) (time.Time, error)
	PurgeDeletes(ctx context.Context, older time.Duration) (int, error)
}

type reading interface {
	Get(ctx context.Context, key string) (bucket.Entry, error)
	GetTyped(ctx context.Context, key string) (bucket.Entry, error)
	At(ctx context.Context, key string, revision uint64) (bucket.Entry, error)
	History(ctx context.Context, key string) ([]bucket.Entry, error)
	Keys(ctx context.Context, filters ...string) iter.Seq2[string, error]
	Watch(ctx context.Context, o bucket.WatchOptions) iter.Seq2[bucket.Event, error]
	Status(ctx context.Context) (bucket.Status, error)
}

// Reach says how a test reaches the buckets of a host, until leave is called.
type Reach func(t testing.TB, h *Host) (b Buckets, leave func())

// Run tests each row that has a test here, in a subtest of its name, on an engine in
// memory with a clock of its own.
func Run(t *testing.T, reach Reach) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if !r.together {
				enginetest.SkipUnderRace(t, "one goroutine asks")
			}
			r.test(t, Open(t, reach))
		})
	}
}

// Rows returns the names of the subtests, each of which begins with the rows that it is of.
func Rows() (names []string) {
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}
