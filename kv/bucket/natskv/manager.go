package natskv

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
)

// Option changes how key-values are used.
type Option func(*options)

type options struct{ durability engine.Durability }

// WithDurability says when writes are acknowledged; without it, once they are synced.
func WithDurability(d engine.Durability) Option { return func(o *options) { o.durability = d } }

func optionsOf(list []Option) (o options) {
	for _, opt := range list {
		opt(&o)
	}
	return o
}

// Manager makes, finds and lists the buckets of a tenant; see [jetstream.KeyValueManager].
type Manager struct {
	buckets *rpc.Buckets
	o       options
}

var _ jetstream.KeyValueManager = (*Manager)(nil)

// New returns a manager of the buckets of a tenant, which needs no closing: they are used over
// the client that b is of. Whoever is bound to the tenant, as services are, finds buckets, and is
// refused where it would make, change or drop one.
func New(b *rpc.Buckets, o ...Option) *Manager { return &Manager{b, optionsOf(o)} }

// Open returns a bucket, such as that of a service's alias, as a key-value. It returns
// [jetstream.ErrBucketNotFound].
func Open(ctx context.Context, b *rpc.Bucket, o ...Option) (jetstream.KeyValue, error) {
	status, err := b.Status(ctx)
	if err != nil {
		return nil, told(err)
	}
	return &keyValue{b, status.Name, nil, optionsOf(o)}, nil
}

// KeyValue returns a bucket, or [jetstream.ErrBucketNotFound].
func (m *Manager) KeyValue(ctx context.Context, name string) (jetstream.KeyValue, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if _, err := m.buckets.Bucket(name).Status(ctx); err != nil {
		return nil, told(err)
	}
	return m.keyValue(name), nil
}

func (m *Manager) keyValue(name string) jetstream.KeyValue {
	return &keyValue{m.buckets.Bucket(name), name, m.buckets, m.o}
}

// CreateKeyValue makes a bucket. Where there is one of the name and of the same configuration it
// returns that, else [jetstream.ErrBucketExists].
func (m *Manager) CreateKeyValue(ctx context.Context, c jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	c, err := normal(c)
	if err != nil {
		return nil, err
	}
	_, err = m.buckets.Create(ctx, configOf(&c, bucket.Info{}))
	if errors.Is(err, bucket.ErrExists) {
		status, e := m.status(ctx, c.Bucket)
		if e == nil && same(status.Config(), c) {
			return m.keyValue(c.Bucket), nil
		}
	}
	if err == nil {
		err = keep(ctx, m.buckets, &c)
	}
	if err != nil {
		return nil, told(err)
	}
	return m.keyValue(c.Bucket), nil
}

// UpdateKeyValue has a bucket be as c says, or returns [jetstream.ErrBucketNotFound]. The schema
// that a bucket has stays.
func (m *Manager) UpdateKeyValue(ctx context.Context, c jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	c, err := normal(c)
	if err != nil {
		return nil, err
	}
	was, err := m.buckets.Bucket(c.Bucket).Status(ctx)
	if err == nil {
		_, err = m.buckets.Alter(ctx, configOf(&c, was.Info))
	}
	if err == nil {
		err = keep(ctx, m.buckets, &c)
	}
	if err != nil {
		return nil, told(err)
	}
	return m.keyValue(c.Bucket), nil
}

// CreateOrUpdateKeyValue has a bucket be as c says, and makes it where there is none.
func (m *Manager) CreateOrUpdateKeyValue(ctx context.Context, c jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	kv, err := m.UpdateKeyValue(ctx, c)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return m.CreateKeyValue(ctx, c)
	}
	return kv, err
}

// DeleteKeyValue drops a bucket with everything in it, or returns [jetstream.ErrBucketNotFound].
func (m *Manager) DeleteKeyValue(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	err := m.buckets.Drop(ctx, name)
	if err == nil {
		err = keep(ctx, m.buckets, &jetstream.KeyValueConfig{Bucket: name})
	}
	if err = told(err); err == jetstream.ErrBucketNotFound { // those who go by streams ask for theirs
		return errors.Join(err, jetstream.ErrStreamNotFound)
	}
	return err
}

// KeyValueStoreNames lists the names of the buckets, in order.
func (m *Manager) KeyValueStoreNames(ctx context.Context) jetstream.KeyValueNamesLister {
	return names{list(ctx, func(ctx context.Context, send func(string) bool) error {
		return m.each(ctx, func(i bucket.Info) (bool, error) { return send(i.Name), nil })
	})}
}

// KeyValueStores lists the buckets, in order of their names.
func (m *Manager) KeyValueStores(ctx context.Context) jetstream.KeyValueLister {
	return stores{list(ctx, func(ctx context.Context, send func(jetstream.KeyValueStatus) bool) error {
		return m.each(ctx, func(i bucket.Info) (bool, error) {
			status, err := m.status(ctx, i.Name)
			if errors.Is(err, jetstream.ErrBucketNotFound) { // it was dropped meanwhile
				return true, nil
			}
			return err == nil && send(status), err
		})
	})}
}

// each goes through the buckets until fn returns false.
func (m *Manager) each(ctx context.Context, fn func(bucket.Info) (bool, error)) error {
	all, err := m.buckets.List(ctx)
	if err != nil {
		return told(err)
	}
	for _, i := range all {
		if i.Name == configs {
			continue
		}
		if more, err := fn(i); err != nil || !more {
			return err
		}
	}
	return nil
}

func (m *Manager) status(ctx context.Context, name string) (jetstream.KeyValueStatus, error) {
	return m.keyValue(name).Status(ctx)
}

// names and stores are lists of buckets.
type (
	names  struct{ *lister[string] }
	stores struct {
		*lister[jetstream.KeyValueStatus]
	}
)

func (n names) Name() <-chan string                      { return n.items }
func (n names) Error() error                             { return n.failed() }
func (s stores) Status() <-chan jetstream.KeyValueStatus { return s.items }
func (s stores) Error() error                            { return s.failed() }
