package bucket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/subject"
	"github.com/stoadb/stoa/kv/document"
)

// Forms of records say what a revision of a key is.
const (
	formOwnTTL uint8 = 1 << iota // a value that has a time to live of its own
	formDelete                   // a marker: the key was deleted
	formPurge                    // a marker: the key was purged
)

func isMarker(form uint8) bool { return form&(formDelete|formPurge) != 0 }

// PutOptions are how a value is put. The zero PutOptions put one that lasts as long as the
// bucket says, once that is synced.
type PutOptions struct {
	// TTL is how long the value lasts, in whole milliseconds; not longer than the bucket's
	// values do. 0: as long as those.
	TTL time.Duration
	// Raw leaves out that the value is to hold to the bucket's schema.
	Raw        bool
	Durability engine.Durability
}

// Put stores the value of a key, and returns its revision. It returns ErrInvalidArgument for
// what is no key, ErrValueTooLarge, ErrValidation with the place in the value.
func (b *Bucket) Put(ctx context.Context, key string, value []byte, o PutOptions) (uint64, error) {
	return b.do(ctx, key, o.Durability, func(w *Writer) (uint64, error) { return w.Put(key, value, o) })
}

// Create is Put of a key that has no value. It returns ErrExists for one that has, with its
// revision.
func (b *Bucket) Create(ctx context.Context, key string, value []byte, o PutOptions) (uint64, error) {
	return b.do(ctx, key, o.Durability, func(w *Writer) (uint64, error) { return w.Create(key, value, o) })
}

// Update is Put of a key that is at a revision, that of a marker too; 0: that never had a
// value, or of which nothing is kept. A time to live of its own goes on, unless the options
// have one. It returns ErrRevisionMismatch with the revision that the key is at.
func (b *Bucket) Update(ctx context.Context, key string, value []byte, revision uint64, o PutOptions) (uint64, error) {
	return b.do(ctx, key, o.Durability, func(w *Writer) (uint64, error) { return w.Update(key, value, revision, o) })
}

// MergeOptions are how a value is changed in part. The zero MergeOptions change it whatever
// revision it is at, and it lasts as long as before.
type MergeOptions struct {
	PutOptions
	Expect   bool // the key is to be at Revision
	Revision uint64
}

// Merge changes what a merge patch (RFC 7386) has of a value, both JSON objects, and returns the
// revision: a property of the patch that is null removes one, objects are merged in turn, and
// all else takes the place of what was there. What it stores is in canonical form (RFC 8785). It
// returns ErrNotFound for a key that has no value, ErrInvalidArgument for what is no patch,
// ErrValidation for a value that is no JSON object, else as Update does.
func (b *Bucket) Merge(ctx context.Context, key string, patch []byte, o MergeOptions) (uint64, error) {
	return b.do(ctx, key, o.Durability, func(w *Writer) (uint64, error) { return w.Merge(key, patch, o) })
}

// DeleteOptions are how a key is deleted, or purged. The zero DeleteOptions do that whatever
// it is at.
type DeleteOptions struct {
	Expect     bool // the key is to be at Revision, as for [Bucket.Update]
	Revision   uint64
	Durability engine.Durability
}

// Delete has a key have no value: what it was is kept as history, which ends with a marker,
// whose revision it returns. A key that never was is marked too. It returns
// ErrRevisionMismatch.
func (b *Bucket) Delete(ctx context.Context, key string, o DeleteOptions) (uint64, error) {
	return b.do(ctx, key, o.Durability, func(w *Writer) (uint64, error) { return w.Delete(key, o) })
}

// Purge is Delete that leaves nothing of the history but the marker.
func (b *Bucket) Purge(ctx context.Context, key string, o DeleteOptions) (uint64, error) {
	return b.do(ctx, key, o.Durability, func(w *Writer) (uint64, error) { return w.Purge(key, o) })
}

// Touch has the value of a key last for ttl from now on; 0: as long as the bucket's values do.
// The value keeps its revision, and no watch is told. It returns ErrNotFound.
func (b *Bucket) Touch(ctx context.Context, key string, ttl time.Duration, d engine.Durability) (expires time.Time, err error) {
	_, err = b.do(ctx, key, d, func(w *Writer) (uint64, error) {
		expires, err = w.Touch(key, ttl)
		return 0, err
	})
	return expires, err
}

func (b *Bucket) do(ctx context.Context, key string, d engine.Durability, fn func(*Writer) (uint64, error)) (revision uint64, err error) {
	if err := subject.Check(key); err != nil {
		return 0, b.told(err, "")
	}
	err = b.space.Update(ctx, d, func(tx *kv.Tx) (err error) {
		revision, err = fn(&Writer{b, tx})
		return err
	})
	if err != nil {
		return 0, b.told(err, key)
	}
	return revision, nil
}

// Writer changes a bucket in a unit of work, with whose other changes its own land. It is valid
// for as long as that. Errors of its methods are those of the Bucket's.
type Writer struct {
	b  *Bucket
	tx *kv.Tx
}

// In returns what changes the bucket in a unit of work of its tenant.
func (b *Bucket) In(w *kv.Work) (*Writer, error) {
	tx, err := w.In(b.space)
	if err != nil {
		return nil, b.told(err, "")
	}
	return &Writer{b, tx}, nil
}

// Put stores the value of a key, as [Bucket.Put] does.
func (w *Writer) Put(key string, value []byte, o PutOptions) (uint64, error) {
	return w.put(key, value, o, false)
}

// Create stores the value of a key that has none, as [Bucket.Create] does.
func (w *Writer) Create(key string, value []byte, o PutOptions) (uint64, error) {
	r, err := w.last(key)
	if err == nil && r.Revision != 0 && !isMarker(r.Form) {
		e := refuse(CodeExists, "key", "the key has a value: update it, or delete it first")
		e.Revision = r.Revision
		err = e
	}
	if err != nil {
		return 0, w.b.told(err, key)
	}
	return w.put(key, value, o, false)
}

// Update stores the value of a key that is at a revision, as [Bucket.Update] does.
func (w *Writer) Update(key string, value []byte, revision uint64, o PutOptions) (uint64, error) {
	if err := w.expect(key, revision); err != nil {
		return 0, err
	}
	return w.put(key, value, o, true)
}

// Merge changes a value in part, as [Bucket.Merge] does.
func (w *Writer) Merge(key string, patch []byte, o MergeOptions) (uint64, error) {
	if o.Expect {
		if err := w.expect(key, o.Revision); err != nil {
			return 0, err
		}
	}
	e, err := w.Get(key)
	if err != nil {
		return 0, err
	}
	change, fault := object(patch)
	if fault != "" {
		return 0, w.b.told(invalid("patch", "a patch is a JSON object, and this is none: %s", fault), key)
	}
	was, fault := object(e.Value)
	if fault != "" {
		refusal := refuse(CodeValidation, "value", "only a JSON object is changed in part, and the value is none: %s: put another", fault)
		refusal.Revision = e.Revision
		return 0, w.b.told(refusal, key)
	}
	return w.put(key, document.Merge(was, change), o.PutOptions, true)
}

// object returns the canonical form of a JSON object, or why it is none.
func object(text []byte) (doc json.RawMessage, fault string) {
	doc, err := document.Canonical(text)
	switch {
	case err != nil:
		return nil, err.Error()
	case document.Kind(doc) != '{':
		return nil, "it is another JSON value"
	}
	return doc, ""
}

// Get returns what a key has as the unit of work leaves it; see [Bucket.Get].
func (w *Writer) Get(key string) (Entry, error) {
	r, err := w.last(key)
	if err == nil && (r.Revision == 0 || isMarker(r.Form)) {
		err = noKey(key)
	}
	if err != nil {
		return Entry{}, w.b.told(err, key)
	}
	r.Value = bytes.Clone(r.Value)
	return entryOf(r), nil
}

// last returns the newest revision of a key, a marker's too; that is 0 where there is none.
func (w *Writer) last(key string) (kv.Record, error) {
	if err := subject.Check(key); err != nil {
		return kv.Record{}, err
	}
	r, err := w.tx.Get([]byte(key))
	if errors.Is(err, kv.ErrNotFound) {
		return kv.Record{}, nil
	}
	return r, err
}

func (w *Writer) expect(key string, revision uint64) error {
	r, err := w.last(key)
	if err == nil && r.Revision != revision {
		e := refuse(CodeRevisionMismatch, "revision", "the key is at the revision %d, and not at %d: read it, and try again", r.Revision, revision)
		e.Revision = r.Revision
		err = e
	}
	return w.b.told(err, key)
}

func (w *Writer) put(key string, value []byte, o PutOptions, keep bool) (uint64, error) {
	if err := subject.Check(key); err != nil {
		return 0, w.b.told(err, "")
	}
	if !o.Raw {
		if err := w.check(value); err != nil {
			return 0, w.b.told(err, key)
		}
	}
	if err := w.checkTTL(o.TTL); err != nil {
		return 0, w.b.told(err, key)
	}
	put := kv.PutOptions{TTL: o.TTL}
	if o.TTL > 0 {
		put.Form = formOwnTTL
	} else if keep {
		r, err := w.last(key)
		if err != nil {
			return 0, w.b.told(err, key)
		}
		put.Form = r.Form & formOwnTTL
		put.KeepTTL = put.Form != 0
	}
	r, err := w.tx.Put([]byte(key), value, put)
	return r.Revision, w.b.told(err, key)
}

// check refuses a value that does not hold to the schema that the bucket has now, which may not be
// the one that it was opened with.
func (w *Writer) check(value []byte) error {
	schema := w.b.schema
	if w.tx.Rules().Mark != w.b.schemas {
		text, err := w.tx.Kept(schemaKept)
		if err != nil {
			return err
		}
		if schema, err = compile(w.b.Name, text); err != nil {
			return err
		}
	}
	return conforms(schema, value)
}

// checkTTL refuses a time to live of a value that its bucket does not give.
func (w *Writer) checkTTL(ttl time.Duration) error {
	if most := w.tx.Rules().TTL; most > 0 && ttl > most {
		e := invalid("ttl", "the bucket's values last for %s at most", most)
		e.Limit, e.Have = uint64(most.Milliseconds()), uint64(ttl.Milliseconds())
		return e
	}
	return CheckTTL(ttl)
}

// CheckTTL returns ErrInvalidArgument for a time to live that no value has.
func CheckTTL(ttl time.Duration) error {
	if ttl < 0 || ttl%time.Millisecond != 0 {
		return invalid("ttl", "a time to live is whole milliseconds, and 0 is as long as the bucket says")
	}
	return nil
}

// Delete has a key have no value, as [Bucket.Delete] does.
func (w *Writer) Delete(key string, o DeleteOptions) (uint64, error) {
	return w.mark(key, formDelete, o)
}

// Purge has a key have neither value nor history, as [Bucket.Purge] does.
func (w *Writer) Purge(key string, o DeleteOptions) (uint64, error) {
	revision, err := w.mark(key, formPurge, o)
	if err == nil {
		err = w.tx.Trim([]byte(key), 1)
	}
	return revision, w.b.told(err, key)
}

func (w *Writer) mark(key string, form uint8, o DeleteOptions) (uint64, error) {
	if err := subject.Check(key); err != nil {
		return 0, w.b.told(err, "")
	}
	if o.Expect {
		if err := w.expect(key, o.Revision); err != nil {
			return 0, err
		}
	}
	r, err := w.tx.Put([]byte(key), nil, kv.PutOptions{Form: form})
	return r.Revision, w.b.told(err, key)
}

// Touch sets how long a value lasts, as [Bucket.Touch] does.
func (w *Writer) Touch(key string, ttl time.Duration) (time.Time, error) {
	err := w.checkTTL(ttl)
	var e Entry
	if err == nil {
		e, err = w.Get(key)
	}
	if err != nil {
		return time.Time{}, w.b.told(err, key)
	}
	return w.rearm(e, ttl)
}

// rearm has a value last for a time of its own from now on; 0: that of the bucket's values.
func (w *Writer) rearm(e Entry, ttl time.Duration) (expires time.Time, err error) {
	form := formOwnTTL
	if ttl == 0 {
		form, ttl = 0, w.tx.Rules().TTL
	}
	if ttl > 0 {
		expires = w.tx.Now().Add(ttl)
	}
	return expires, w.b.told(w.tx.Rearm([]byte(e.Key), form, expires), e.Key)
}
