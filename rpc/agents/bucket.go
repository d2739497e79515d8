package agents

import (
	"context"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc/access"
	_ "github.com/stoadb/stoa/rpc/internal/bucketwire" // says how buckets go over the wire
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Bucket is a bucket of key-values. It is a view of its client, and as safe for concurrent use;
// that the bucket is there is seen by the calls. Beside the errors of calls methods return
// [*bucket.Error].
//
// What changes keys is in this file, what reads them in bucketread.go, watches in
// bucketwatch.go, and the buckets themselves in buckets.go.
type Bucket struct {
	c  caller.Caller
	in inBucket
}

// inBucket are the arguments of all calls of a bucket: which one it is, and who asks.
type inBucket struct {
	op.OfService
	Bucket string
	Alias  string
}

// open returns the bucket that is meant.
func (a *inBucket) open(s *bucket.Store) (*bucket.Bucket, error) {
	return s.Named(a.Tenant, bucket.Name{Service: a.Service, Bucket: a.Bucket, Alias: a.Alias}, a.Operator())
}

// bucketPutting are the arguments of Put, of Create if that is so, and of Update at a revision.
type bucketPutting struct {
	inBucket
	Key    string
	Value  []byte
	Create *bool
	Update *uint64
	bucket.PutOptions
}

var bucketPut = op.New(op.Method{Number: 1307, Name: "Bucket.Put", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *bucket.Store, a *bucketPutting) (uint64, error) {
		b, err := a.open(s)
		switch {
		case err != nil:
			return 0, err
		case a.Create != nil && *a.Create:
			return b.Create(ctx, a.Key, a.Value, a.PutOptions)
		case a.Update != nil:
			return b.Update(ctx, a.Key, a.Value, *a.Update, a.PutOptions)
		}
		return b.Put(ctx, a.Key, a.Value, a.PutOptions)
	})

// put makes a call of Put.
func (b *Bucket) put(ctx context.Context, a bucketPutting) (uint64, error) {
	if err := bucket.CheckTTL(a.TTL); err != nil {
		return 0, err
	}
	a.inBucket = b.in
	return caller.Call(ctx, b.c, bucketPut, a)
}

// Put stores the value of a key, and returns its revision; see [bucket.Bucket.Put].
func (b *Bucket) Put(ctx context.Context, key string, value []byte, o bucket.PutOptions) (uint64, error) {
	return b.put(ctx, bucketPutting{Key: key, Value: value, PutOptions: o})
}

// Create is Put of a key that has no value. It returns bucket.ErrExists for one that has.
func (b *Bucket) Create(ctx context.Context, key string, value []byte, o bucket.PutOptions) (uint64, error) {
	yes := true
	return b.put(ctx, bucketPutting{Key: key, Value: value, Create: &yes, PutOptions: o})
}

// Update is Put of a key that is at a revision, a marker's too; 0: of which nothing is kept. It
// returns bucket.ErrRevisionMismatch.
func (b *Bucket) Update(ctx context.Context, key string, value []byte, revision uint64, o bucket.PutOptions) (uint64, error) {
	return b.put(ctx, bucketPutting{Key: key, Value: value, Update: &revision, PutOptions: o})
}

// bucketMerging are the arguments of Merge.
type bucketMerging struct {
	inBucket
	Key   string
	Patch []byte
	bucket.MergeOptions
}

var bucketMerge = op.New(op.Method{Number: 1312, Name: "Bucket.Merge", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *bucket.Store, a *bucketMerging) (uint64, error) {
		b, err := a.open(s)
		if err != nil {
			return 0, err
		}
		return b.Merge(ctx, a.Key, a.Patch, a.MergeOptions)
	})

// Merge changes what a merge patch (RFC 7386) has of a value, both JSON objects, and returns the
// revision; see [bucket.Bucket.Merge].
func (b *Bucket) Merge(ctx context.Context, key string, patch []byte, o bucket.MergeOptions) (uint64, error) {
	if err := bucket.CheckTTL(o.TTL); err != nil {
		return 0, err
	}
	return caller.Call(ctx, b.c, bucketMerge, bucketMerging{b.in, key, patch, o})
}

// bucketRemoving are the arguments of Delete and Purge.
type bucketRemoving struct {
	inBucket
	Key string
	bucket.DeleteOptions
}

var bucketDelete = op.New(op.Method{Number: 1308, Name: "Bucket.Delete", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *bucket.Store, a *bucketRemoving) (uint64, error) {
		b, err := a.open(s)
		if err != nil {
			return 0, err
		}
		return b.Delete(ctx, a.Key, a.DeleteOptions)
	})

// Delete has a key have no value, keeps what it had as history, and returns the revision of the
// marker; see [bucket.Bucket.Delete].
func (b *Bucket) Delete(ctx context.Context, key string, o bucket.DeleteOptions) (uint64, error) {
	return caller.Call(ctx, b.c, bucketDelete, bucketRemoving{b.in, key, o})
}

var bucketPurge = op.New(op.Method{Number: 1309, Name: "Bucket.Purge", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *bucket.Store, a *bucketRemoving) (uint64, error) {
		b, err := a.open(s)
		if err != nil {
			return 0, err
		}
		return b.Purge(ctx, a.Key, a.DeleteOptions)
	})

// Purge is Delete that leaves nothing of the history but the marker.
func (b *Bucket) Purge(ctx context.Context, key string, o bucket.DeleteOptions) (uint64, error) {
	return caller.Call(ctx, b.c, bucketPurge, bucketRemoving{b.in, key, o})
}

// bucketTouching are the arguments of Touch.
type bucketTouching struct {
	inBucket
	Key        string
	TTL        time.Duration `wire:"ttl_ms"`
	Durability engine.Durability
}

var bucketTouch = op.New(op.Method{Number: 1310, Name: "Bucket.Touch", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *bucket.Store, a *bucketTouching) (time.Time, error) {
		b, err := a.open(s)
		if err != nil {
			return time.Time{}, err
		}
		return b.Touch(ctx, a.Key, a.TTL, a.Durability)
	})

// Touch has the value of a key last for ttl from now on; 0: as long as the bucket's values do.
// It returns when it expires; see [bucket.Bucket.Touch].
func (b *Bucket) Touch(ctx context.Context, key string, ttl time.Duration, d engine.Durability) (time.Time, error) {
	if err := bucket.CheckTTL(ttl); err != nil {
		return time.Time{}, err
	}
	return caller.Call(ctx, b.c, bucketTouch, bucketTouching{b.in, key, ttl, d})
}

// bucketClearing are the arguments of PurgeDeletes.
type bucketClearing struct {
	inBucket
	Older time.Duration `wire:"older_ms"`
	All   bool
}

var bucketPurgeDeletes = op.New(op.Method{Number: 1311, Name: "Bucket.PurgeDeletes", Role: access.Writer, Tenant: true, Long: true},
	func(ctx context.Context, s *bucket.Store, a *bucketClearing) (int, error) {
		b, err := a.open(s)
		if err != nil {
			return 0, err
		}
		if a.All {
			a.Older = -1
		}
		return b.PurgeDeletes(ctx, a.Older)
	})

// PurgeDeletes removes the history of keys that have no value, and of their markers those that
// are older than a time; 0: bucket.MarkersKept, less than 0: all of them. It returns how many
// keys are gone.
func (b *Bucket) PurgeDeletes(ctx context.Context, older time.Duration) (int, error) {
	return caller.Call(ctx, b.c, bucketPurgeDeletes, bucketClearing{b.in, max(older, 0), older < 0})
}
