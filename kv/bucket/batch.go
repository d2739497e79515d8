package bucket

import (
	"time"

	"github.com/stoadb/stoa/kv"
)

// MaxChanges is how many changes a batch has at most.
const MaxChanges = 1000

// Change is what a batch does to a key of a bucket, as [Bucket.Put], [Bucket.Update],
// [Bucket.Delete] and [Bucket.Purge] do it.
type Change struct {
	Name        // of the bucket, for who asks
	Op       Op // OpPut, OpDelete or OpPurge
	Key      string
	Value    []byte        // of OpPut, as what is below
	TTL      time.Duration // as in [PutOptions]
	Raw      bool          // as in PutOptions
	Revision *uint64       // which the key is to be at; nil: it is changed whatever it is at
}

// Batch returns what makes changes in a unit of work of a tenant: all of them, in their order, with
// what else it does, or none. Of each bucket is who asks for it, as for [Store.Named]. What it
// returns may be run more than once. Errors are those of the methods of a Bucket.
func (s *Store) Batch(tenant string, list []Change, operator bool) (func(*kv.Work) error, error) {
	if len(list) > MaxChanges {
		e := refuse(CodeTooMany, "changes", "%d changes at once, at most %d", len(list), MaxChanges)
		e.Limit, e.Have = MaxChanges, uint64(len(list))
		return nil, e
	}
	buckets := map[Name]*Bucket{}
	for i := range list {
		c := &list[i]
		if c.Op < OpPut || c.Op > OpPurge {
			return nil, invalid("op", "a change puts, deletes or purges a key")
		}
		if c.Op != OpPut && (len(c.Value) > 0 || c.TTL != 0 || c.Raw) {
			return nil, invalid("value", "only what is put has a value, and how long it lasts")
		}
		if buckets[c.Name] != nil {
			continue
		}
		b, err := s.Named(tenant, c.Name, operator)
		if err != nil {
			return nil, err
		}
		buckets[c.Name] = b
	}
	return func(w *kv.Work) error {
		for i := range list {
			in, err := buckets[list[i].Name].In(w)
			if err == nil {
				err = in.apply(&list[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// apply makes a change of a batch.
func (w *Writer) apply(c *Change) (err error) {
	put := PutOptions{TTL: c.TTL, Raw: c.Raw}
	remove := DeleteOptions{Expect: c.Revision != nil}
	if remove.Expect {
		remove.Revision = *c.Revision
	}
	switch {
	case c.Op == OpDelete:
		_, err = w.Delete(c.Key, remove)
	case c.Op == OpPurge:
		_, err = w.Purge(c.Key, remove)
	case remove.Expect:
		_, err = w.Update(c.Key, c.Value, remove.Revision, put)
	default:
		_, err = w.Put(c.Key, c.Value, put)
	}
	return err
}
