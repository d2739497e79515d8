package buckettest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/bucket"
)

// tenant is the one that the tests are about.
const tenant = "t"

// InProcess reaches the buckets of a host as they are.
func InProcess(_ testing.TB, h *Host) (Buckets, func()) { return local{h.Store}, func() {} }

// local is the buckets of a store, by the methods of a client.
type local struct{ s *bucket.Store }

func (l local) Create(ctx context.Context, c bucket.Config) (bucket.Info, error) {
	return l.s.Create(ctx, tenant, c)
}

func (l local) Alter(ctx context.Context, c bucket.Config) (bucket.Info, error) {
	return l.s.Alter(ctx, tenant, c)
}

func (l local) Drop(ctx context.Context, name string) error { return l.s.Drop(ctx, tenant, name) }

func (l local) List(ctx context.Context) ([]bucket.Info, error) { return l.s.List(ctx, tenant) }

func (l local) Named(n bucket.Name) Bucket { return named{l.s, n} }

func (l local) Propose(ctx context.Context, text []byte) (*bucket.Authority, error) {
	return l.s.Propose(ctx, tenant, text)
}

func (l local) Plan(ctx context.Context, service string) (*bucket.Proposal, error) {
	return l.s.Plan(ctx, tenant, service)
}

func (l local) Accept(ctx context.Context, service, digest string, migration bool) (*bucket.Authority, error) {
	return l.s.Accept(ctx, tenant, service, digest, migration)
}

func (l local) Reject(ctx context.Context, service, digest string) (*bucket.Authority, error) {
	return l.s.Reject(ctx, tenant, service, digest)
}

func (l local) Reconcile(ctx context.Context, service string) (bucket.Reconciled, error) {
	return l.s.Reconcile(ctx, tenant, service)
}

func (l local) Revoke(ctx context.Context, service string) ([]string, error) {
	return l.s.Revoke(ctx, tenant, service)
}

func (l local) Authority(_ context.Context, service string) (*bucket.Authority, error) {
	return l.s.Authority(tenant, service)
}

func (l local) Authorities(ctx context.Context) ([]*bucket.Authority, error) {
	return l.s.Authorities(ctx, tenant)
}

// named is a bucket that is looked up for each call, as a daemon does.
type named struct {
	s *bucket.Store
	n bucket.Name
}

// ask asks something of it.
func ask[R any](b named, fn func(*bucket.Bucket) (R, error)) (R, error) {
	in, err := b.s.Named(tenant, b.n, true)
	if err != nil {
		var none R
		return none, err
	}
	return fn(in)
}

// list asks for a list.
func list[R any](b named, fn func(*bucket.Bucket) iter.Seq2[R, error]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		in, err := b.s.Named(tenant, b.n, true)
		if err != nil {
			var none R
			yield(none, err)
			return
		}
		fn(in)(yield)
	}
}

func (b named) Put(ctx context.Context, key string, value []byte, o bucket.PutOptions) (uint64, error) {
	return ask(b, func(in *bucket.Bucket) (uint64, error) { return in.Put(ctx, key, value, o) })
}

func (b named) Create(ctx context.Context, key string, value []byte, o bucket.PutOptions) (uint64, error) {
	return ask(b, func(in *bucket.Bucket) (uint64, error) { return in.Create(ctx, key, value, o) })
}

func (b named) Update(ctx context.Context, key string, value []byte, revision uint64, o bucket.PutOptions) (uint64, error) {
	return ask(b, func(in *bucket.Bucket) (uint64, error) { return in.Update(ctx, key, value, revision, o) })
}

func (b named) Merge(ctx context.Context, key string, patch []byte, o bucket.MergeOptions) (uint64, error) {
	return ask(b, func(in *bucket.Bucket) (uint64, error) { return in.Merge(ctx, key, patch, o) })
}

func (b named) Delete(ctx context.Context, key string, o bucket.DeleteOptions) (uint64, error) {
	return ask(b, func(in *bucket.Bucket) (uint64, error) { return in.Delete(ctx, key, o) })
}

func (b named) Purge(ctx context.Context, key string, o bucket.DeleteOptions) (uint64, error) {
	return ask(b, func(in *bucket.Bucket) (uint64, error) { return in.Purge(ctx, key, o) })
}

func (b named) Touch(ctx context.Context, key string, ttl time.Duration, d engine.Durability) (time.Time, error) {
	return ask(b, func(in *bucket.Bucket) (time.Time, error) { return in.Touch(ctx, key, ttl, d) })
}

func (b named) PurgeDeletes(ctx context.Context, older time.Duration) (int, error) {
	return ask(b, func(in *bucket.Bucket) (int, error) { return in.PurgeDeletes(ctx, older) })
}

func (b named) Get(_ context.Context, key string) (bucket.Entry, error) {
	return ask(b, func(in *bucket.Bucket) (bucket.Entry, error) { return in.Get(key) })
}

func (b named) GetTyped(_ context.Context, key string) (bucket.Entry, error) {
	return ask(b, func(in *bucket.Bucket) (bucket.Entry, error) { return in.GetTyped(key) })
}

func (b named) At(_ context.Context, key string, revision uint64) (bucket.Entry, error) {
	return ask(b, func(in *bucket.Bucket) (bucket.Entry, error) { return in.At(key, revision) })
}

func (b named) History(_ context.Context, key string) ([]bucket.Entry, error) {
	return ask(b, func(in *bucket.Bucket) ([]bucket.Entry, error) { return in.History(key) })
}

func (b named) Keys(ctx context.Context, filters ...string) iter.Seq2[string, error] {
	return list(b, func(in *bucket.Bucket) iter.Seq2[string, error] { return in.Keys(ctx, filters...) })
}

func (b named) Watch(ctx context.Context, o bucket.WatchOptions) iter.Seq2[bucket.Event, error] {
	return list(b, func(in *bucket.Bucket) iter.Seq2[bucket.Event, error] { return in.Watch(ctx, o) })
}

func (b named) Status(context.Context) (bucket.Status, error) {
	return ask(b, func(in *bucket.Bucket) (bucket.Status, error) { return in.Status() })
}
