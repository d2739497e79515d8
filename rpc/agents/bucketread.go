package agents

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// bucketReading are the arguments of Get.
type bucketReading struct {
	inBucket
	Key   string
	Typed bool
}

var bucketGet = op.New(op.Method{Number: 1301, Name: "Bucket.Get", Role: access.Reader, Tenant: true, Short: true},
	func(_ context.Context, s *bucket.Store, a *bucketReading) (bucket.Entry, error) {
		b, err := a.open(s)
		if err != nil {
			return bucket.Entry{}, err
		}
		if a.Typed {
			return b.GetTyped(a.Key)
		}
		return b.Get(a.Key)
	})

// Get returns what a key has. It returns bucket.ErrNotFound, with the revision of the marker, if
// that is why.
func (b *Bucket) Get(ctx context.Context, key string) (bucket.Entry, error) {
	return caller.Call(ctx, b.c, bucketGet, bucketReading{inBucket: b.in, Key: key})
}

// GetTyped is Get of a value that is to hold to the bucket's schema. It returns
// bucket.ErrValidation, with the revision, for one that does not.
func (b *Bucket) GetTyped(ctx context.Context, key string) (bucket.Entry, error) {
	return caller.Call(ctx, b.c, bucketGet, bucketReading{b.in, key, true})
}

// bucketRevision are the arguments of At.
type bucketRevision struct {
	inBucket
	Key      string
	Revision uint64
}

var bucketAt = op.New(op.Method{Number: 1302, Name: "Bucket.At", Role: access.Reader, Tenant: true},
	func(_ context.Context, s *bucket.Store, a *bucketRevision) (bucket.Entry, error) {
		b, err := a.open(s)
		if err != nil {
			return bucket.Entry{}, err
		}
		return b.At(a.Key, a.Revision)
	})

// At returns what a key was at a revision of its own, a marker too. It returns
// bucket.ErrNotFound for one that it did not have, or that is no longer kept.
func (b *Bucket) At(ctx context.Context, key string, revision uint64) (bucket.Entry, error) {
	return caller.Call(ctx, b.c, bucketAt, bucketRevision{b.in, key, revision})
}

// bucketKey are the arguments of History.
type bucketKey struct {
	inBucket
	Key string
}

var bucketHistory = op.NewStream(op.Method{Number: 1303, Name: "Bucket.History", Role: access.Reader, Tenant: true},
	func(_ context.Context, s *bucket.Store, a *bucketKey) iter.Seq2[bucket.Entry, error] {
		b, err := a.open(s)
		if err != nil {
			return each[bucket.Entry](nil, err)
		}
		return each(b.History(a.Key))
	}, bucketEntrySize, op.StreamQueue)

// bucketEntrySize is about how many bytes an entry takes.
func bucketEntrySize(e *bucket.Entry) int { return 96 + len(e.Key) + len(e.Value) }

// History returns the revisions of a key that are kept, oldest first; none of a key that never
// was, or whose time is over.
func (b *Bucket) History(ctx context.Context, key string) ([]bucket.Entry, error) {
	return once(caller.Stream(ctx, b.c, bucketHistory, bucketKey{b.in, key}))
}

// bucketFilters are the arguments of Keys.
type bucketFilters struct {
	inBucket
	Filters []string
}

var bucketKeys = op.NewStream(op.Method{Number: 1304, Name: "Bucket.Keys", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *bucket.Store, a *bucketFilters) iter.Seq2[string, error] {
		b, err := a.open(s)
		if err != nil {
			return each[string](nil, err)
		}
		return b.Keys(ctx, a.Filters...)
	}, func(key *string) int { return 16 + len(*key) }, op.StreamQueue)

// Keys yields the keys that have a value and match one of the filters, as they are when it
// begins; no filter: all. See [bucket.Bucket.Keys].
func (b *Bucket) Keys(ctx context.Context, filters ...string) iter.Seq2[string, error] {
	return caller.Stream(ctx, b.c, bucketKeys, bucketFilters{b.in, filters})
}

var bucketStatus = op.New(op.Method{Number: 1306, Name: "Bucket.Status", Role: access.Reader, Tenant: true},
	func(_ context.Context, s *bucket.Store, a *inBucket) (bucket.Status, error) {
		b, err := a.open(s)
		if err != nil {
			return bucket.Status{}, err
		}
		return b.Status()
	})

// Status returns what the bucket is and has.
func (b *Bucket) Status(ctx context.Context) (bucket.Status, error) {
	return caller.Call(ctx, b.c, bucketStatus, b.in)
}
