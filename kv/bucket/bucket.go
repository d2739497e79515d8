package bucket

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/contract"
)

// Bucket is a bucket of a tenant. Any number of goroutines may use it at once. What it is was
// looked up when it was opened: once it is altered or dropped, a new one is to be opened.
type Bucket struct {
	Info
	store  *Store
	tenant string
	space  *kv.Space
	schema *contract.Schema // nil: values are any bytes
}

// maxOpen is how many buckets are remembered.
const maxOpen = 1 << 14

// Open returns a bucket, or ErrNotFound.
func (s *Store) Open(tenant, name string) (*Bucket, error) {
	b, changed := s.remembered(bucketName{tenant: tenant, bucket: name})
	if b != nil {
		return b, nil
	}
	registry, err := s.registry(tenant)
	if registry == nil || err != nil {
		return nil, cmp.Or[error](err, noBucket(name))
	}
	info, err := found(registry, name)
	if err != nil {
		return nil, told(err)
	}
	b = &Bucket{Info: info, store: s, tenant: tenant}
	if b.schema, err = compile(name, info.Schema); err != nil {
		return nil, about(err, name, "")
	}
	if b.space, err = s.kv.Space(tenant, kv.SystemBucket, info.space); err != nil {
		return nil, b.told(err, "")
	}
	s.remember(bucketName{tenant: tenant, bucket: name}, b, changed)
	return b, nil
}

// remembered returns a bucket that was asked for lately, nil for another, and how many changes
// of what buckets are there were then.
func (s *Store) remembered(name bucketName) (*Bucket, uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.buckets[name], s.changed
}

// remember has a bucket be found that was looked up since so many changes, unless there were
// others.
func (s *Store) remember(name bucketName, b *Bucket, changed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed != s.changed {
		return
	}
	if len(s.buckets) >= maxOpen {
		for other := range s.buckets { // any one
			delete(s.buckets, other)
			break
		}
	}
	s.buckets[name] = b
}

// OpenFor is Open for a service, or ErrForbidden for a bucket that is not its own.
func (s *Store) OpenFor(tenant, service, name string) (*Bucket, error) {
	b, err := s.Open(tenant, name)
	if err == nil && b.Service != service {
		e := refuse(CodeForbidden, "service", "the bucket is not of the service %q: a service uses the buckets that its contract declares", service)
		e.Bucket = name
		return nil, e
	}
	return b, err
}

// Name is how a bucket is asked for: by its name, or by the alias that the contract of a
// service has for it.
type Name struct {
	Service string // that asks; "": none does
	Bucket  string
	Alias   string // where Bucket is ""
}

// Named is Open for who asks: of a service OpenFor, or Bound. Whoever names no service gets the
// buckets that are of none, and an operator any.
func (s *Store) Named(tenant string, n Name, operator bool) (*Bucket, error) {
	switch {
	case n.Bucket != "" && n.Alias != "":
		return nil, invalid("alias", "a bucket is asked for by its name or by its alias: one of them")
	case n.Alias != "" && n.Service == "":
		return nil, invalid("service", "an alias is that of a service: name it")
	case n.Alias != "":
		return s.Bound(tenant, n.Service, n.Alias)
	case operator && n.Service == "":
		return s.Open(tenant, n.Bucket)
	}
	return s.OpenFor(tenant, n.Service, n.Bucket)
}

// told is an error about the bucket, and about a key of it.
func (b *Bucket) told(err error, key string) error {
	if errors.Is(err, kv.ErrSpaceNotFound) { // it was dropped meanwhile
		b.store.forget(b.tenant)
		return noBucket(b.Name)
	}
	return about(err, b.Name, key)
}

// compile makes a schema of its text; nil: there is none.
func compile(name string, text json.RawMessage) (*contract.Schema, error) {
	if text == nil {
		return nil, nil
	}
	s, err := contract.ParseSchema(name, text)
	if err != nil {
		return nil, invalid("schema", "%s", err)
	}
	return s, nil
}

// Check returns ErrValidation for a value that does not hold to the bucket's schema, with the
// place in it where it does not.
func (b *Bucket) Check(value []byte) error {
	return conforms(b.schema, value)
}

func conforms(schema *contract.Schema, value []byte) error {
	if schema == nil {
		return nil
	}
	_, err := schema.Read(value)
	if refused := (*contract.Error)(nil); errors.As(err, &refused) {
		e := refuse(CodeValidation, "value", "%s", refused.Reason)
		e.Pointer = refused.Field
		return e
	}
	return err
}
