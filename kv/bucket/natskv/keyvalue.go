package natskv

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
)

// keyValue is a bucket as nats.go has one.
type keyValue struct {
	b    *rpc.Bucket
	name string
	all  *rpc.Buckets // of the tenant; nil: not known
	o    options
}

func (kv *keyValue) Bucket() string { return kv.name }

func (kv *keyValue) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	e, err := kv.b.Get(ctx, key)
	if err != nil {
		return nil, told(err)
	}
	return &entry{bucket: kv.name, e: e}, nil
}

// GetRevision takes 0 for the newest revision, as nats.go does.
func (kv *keyValue) GetRevision(ctx context.Context, key string, revision uint64) (jetstream.KeyValueEntry, error) {
	if revision == 0 {
		return kv.Get(ctx, key)
	}
	e, err := kv.b.At(ctx, key, revision)
	if err != nil {
		return nil, told(err)
	}
	if e.Op != bucket.OpPut {
		return nil, jetstream.ErrKeyNotFound
	}
	return &entry{bucket: kv.name, e: e}, nil
}

func (kv *keyValue) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	revision, err := kv.b.Put(ctx, key, value, kv.putting(0))
	return revision, told(err)
}

func (kv *keyValue) PutString(ctx context.Context, key, value string) (uint64, error) {
	return kv.Put(ctx, key, []byte(value))
}

func (kv *keyValue) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	ttl, err := creating(opts)
	if err != nil {
		return 0, err
	}
	revision, err := kv.b.Create(ctx, key, value, kv.putting(ttl))
	return revision, told(err)
}

func (kv *keyValue) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	revision, err := kv.b.Update(ctx, key, value, revision, kv.putting(0))
	return revision, told(err)
}

func (kv *keyValue) putting(ttl time.Duration) bucket.PutOptions {
	return bucket.PutOptions{TTL: ttl, Durability: kv.o.durability}
}

func (kv *keyValue) Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	o, err := deleting(opts, false, kv.o)
	if err == nil {
		_, err = kv.b.Delete(ctx, key, o)
	}
	return told(err)
}

func (kv *keyValue) Purge(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	o, err := deleting(opts, true, kv.o)
	if err == nil {
		_, err = kv.b.Purge(ctx, key, o)
	}
	return told(err)
}

func (kv *keyValue) PurgeDeletes(ctx context.Context, opts ...jetstream.KVPurgeOpt) error {
	older, err := purging(opts)
	if err == nil {
		_, err = kv.b.PurgeDeletes(ctx, older)
	}
	return told(err)
}

func (kv *keyValue) Status(ctx context.Context) (jetstream.KeyValueStatus, error) {
	s, err := kv.b.Status(ctx)
	if err != nil {
		return nil, told(err)
	}
	k, err := keptOf(ctx, kv.all, kv.name)
	if err != nil {
		return nil, told(err)
	}
	return &status{s, natsConfig(&s.Info, &k)}, nil
}

// status is that of a bucket.
type status struct {
	s bucket.Status
	c jetstream.KeyValueConfig
}

func (s *status) Bucket() string                   { return s.c.Bucket }
func (s *status) Values() uint64                   { return s.s.Values }
func (s *status) History() int64                   { return int64(s.c.History) }
func (s *status) TTL() time.Duration               { return s.c.TTL }
func (s *status) Bytes() uint64                    { return s.s.Bytes }
func (s *status) IsCompressed() bool               { return s.c.Compression }
func (s *status) LimitMarkerTTL() time.Duration    { return s.c.LimitMarkerTTL }
func (s *status) Metadata() map[string]string      { return s.c.Metadata }
func (s *status) Config() jetstream.KeyValueConfig { return s.c }

// BackingStore is the one that nats.go knows.
func (s *status) BackingStore() string { return "JetStream" }

// entry is a revision of a key.
type entry struct {
	bucket string
	e      bucket.Entry
	delta  uint64
}

func (e *entry) Bucket() string     { return e.bucket }
func (e *entry) Key() string        { return e.e.Key }
func (e *entry) Value() []byte      { return e.e.Value }
func (e *entry) Revision() uint64   { return e.e.Revision }
func (e *entry) Created() time.Time { return e.e.Created }
func (e *entry) Delta() uint64      { return e.delta }

// Operation of a value that has expired is a purge, as in NATS.
func (e *entry) Operation() jetstream.KeyValueOp {
	switch e.e.Op {
	case bucket.OpPut:
		return jetstream.KeyValuePut
	case bucket.OpDelete:
		return jetstream.KeyValueDelete
	}
	return jetstream.KeyValuePurge
}
