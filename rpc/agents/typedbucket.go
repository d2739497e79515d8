package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/kv/bucket"
)

// TypedBucket is a bucket whose values are those of a Go type, as JSON. What the bucket's schema
// says of them is checked by the daemon, on each write and on each read.
type TypedBucket[T any] struct{ *Bucket }

// OpenBucket returns a bucket as one of values of a type.
func OpenBucket[T any](b *Bucket) TypedBucket[T] { return TypedBucket[T]{b} }

// TypedEntry is a revision of a key of a [TypedBucket].
type TypedEntry[T any] struct {
	bucket.Entry
	Of T // the value, of bucket.OpPut
}

func typedEntry[T any](e bucket.Entry) (TypedEntry[T], error) {
	typed := TypedEntry[T]{Entry: e}
	if e.Op != bucket.OpPut {
		return typed, nil
	}
	if err := json.Unmarshal(e.Value, &typed.Of); err != nil {
		return typed, fmt.Errorf("the value of %q at revision %d is no %T: %w", e.Key, e.Revision, typed.Of, err)
	}
	return typed, nil
}

// Get returns the value of a key. It returns bucket.ErrNotFound, and bucket.ErrValidation for one
// that does not hold to the bucket's schema.
func (b TypedBucket[T]) Get(ctx context.Context, key string) (TypedEntry[T], error) {
	e, err := b.GetTyped(ctx, key)
	if err != nil {
		return TypedEntry[T]{}, err
	}
	return typedEntry[T](e)
}

// Put stores the value of a key, and returns its revision, as [Bucket.Put] does.
func (b TypedBucket[T]) Put(ctx context.Context, key string, value T, o bucket.PutOptions) (uint64, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	return b.Bucket.Put(ctx, key, text, o)
}

// Create stores the value of a key that has none, as [Bucket.Create] does.
func (b TypedBucket[T]) Create(ctx context.Context, key string, value T, o bucket.PutOptions) (uint64, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	return b.Bucket.Create(ctx, key, text, o)
}

// Update stores the value of a key that is at a revision, as [Bucket.Update] does.
func (b TypedBucket[T]) Update(ctx context.Context, key string, value T, revision uint64, o bucket.PutOptions) (uint64, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	return b.Bucket.Update(ctx, key, text, revision, o)
}

// TypedEvent is something that a watch of a [TypedBucket] tells.
type TypedEvent[T any] struct {
	bucket.Event
	Of T // the value of an entry that is a put, unless values are left out
}

// Watch yields what happens to keys, as [Bucket.Watch] does. A value that does not hold to the
// bucket's schema, or is none of the type, is an event of the kind bucket.EventError, and the
// watch goes on. Deletions and expiry are left out, unless includeDeletes.
func (b TypedBucket[T]) Watch(ctx context.Context, includeDeletes bool, o bucket.WatchOptions) iter.Seq2[TypedEvent[T], error] {
	o.Typed, o.IgnoreDeletes = true, !includeDeletes
	return func(yield func(TypedEvent[T], error) bool) {
		for e, err := range b.Bucket.Watch(ctx, o) {
			told := TypedEvent[T]{Event: e}
			if err == nil && e.Kind == bucket.EventEntry && !o.MetaOnly {
				var of TypedEntry[T]
				if of, told.Err = typedEntry[T](e.Entry); told.Err != nil {
					told.Kind = bucket.EventError
				}
				told.Of = of.Of
			}
			if !yield(told, err) {
				return
			}
		}
	}
}
