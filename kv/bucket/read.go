package bucket

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket/subject"
)

// Op is what a revision did to its key.
type Op uint8

const (
	// OpPut stored a value.
	OpPut Op = 1 + iota
	// OpDelete removed it, and left what was before.
	OpDelete
	// OpPurge removed it and what was before.
	OpPurge
	// OpExpire removed all, since the time of the value was over.
	OpExpire
)

// String is the operation as clients spell it.
func (o Op) String() string {
	names := [...]string{"none", "put", "delete", "purge", "expire"}
	if int(o) < len(names) {
		return names[o]
	}
	return names[0]
}

// Entry is a revision of a key.
type Entry struct {
	Key      string
	Value    []byte // of OpPut
	Revision uint64 // within the bucket
	Op       Op
	Created  time.Time // of the revision
	Expires  time.Time // zero: never
}

func entryOf(r kv.Record) Entry {
	e := Entry{Key: string(r.Key), Value: r.Value, Revision: r.Revision, Op: OpPut, Created: r.Written, Expires: r.Expires}
	switch {
	case r.Kind == kv.Expired:
		e.Op = OpExpire
	case r.Form&formPurge != 0:
		e.Op = OpPurge
	case r.Form&formDelete != 0:
		e.Op = OpDelete
	}
	if e.Op != OpPut {
		e.Value = nil
	} else if e.Value == nil {
		e.Value = []byte{}
	}
	return e
}

// Get returns what a key has. It returns ErrNotFound, with the revision of the marker, if that
// is why.
func (b *Bucket) Get(key string) (Entry, error) {
	if err := subject.Check(key); err != nil {
		return Entry{}, b.told(err, "")
	}
	r, err := b.space.Get([]byte(key))
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return Entry{}, b.told(b.missing(noKey(key)), key)
	case err != nil:
		return Entry{}, b.told(err, key)
	case isMarker(r.Form):
		e := noKey(key)
		e.Revision = r.Revision
		return Entry{}, b.told(e, key)
	}
	return entryOf(r), nil
}

// missing is what is said where the bucket has no row: that, or that the bucket is gone.
func (b *Bucket) missing(none *Error) error {
	if _, err := b.space.Stats(); err != nil {
		return err
	}
	return none
}

// GetTyped is Get of a value that is to hold to the bucket's schema. It returns ErrValidation,
// with the revision, for one that does not, as one may that was stored before the schema.
func (b *Bucket) GetTyped(key string) (Entry, error) {
	e, err := b.Get(key)
	if err == nil {
		err = b.Valid(&e)
	}
	return e, err
}

// Valid returns ErrValidation for an entry whose value does not hold to the bucket's schema.
func (b *Bucket) Valid(e *Entry) error {
	if e.Op != OpPut {
		return nil
	}
	err := b.Check(e.Value)
	if refused := (*Error)(nil); errors.As(err, &refused) {
		refused.Revision = e.Revision
	}
	return b.told(err, e.Key)
}

// At returns what a key was at a revision of its own, a marker too. It returns ErrNotFound for
// one that it did not have, or that is no longer kept.
func (b *Bucket) At(key string, revision uint64) (Entry, error) {
	if err := subject.Check(key); err != nil {
		return Entry{}, b.told(err, "")
	}
	view, err := b.space.View()
	if err != nil {
		return Entry{}, b.told(err, key)
	}
	defer func() { _ = view.Close() }()
	r, err := view.Of([]byte(key), revision)
	if errors.Is(err, kv.ErrTrimmed) {
		err = b.missing(refuse(CodeNotFound, "revision", "the key has no revision %d, or it is no longer kept", revision))
	}
	if err != nil {
		return Entry{}, b.told(err, key)
	}
	return entryOf(r), nil
}

// History returns the revisions of a key that are kept, oldest first; none of a key that never
// was, or whose time is over.
func (b *Bucket) History(key string) (list []Entry, err error) {
	if err := subject.Check(key); err != nil {
		return nil, b.told(err, "")
	}
	view, err := b.space.View()
	if err != nil {
		return nil, b.told(err, key)
	}
	defer func() { _ = view.Close() }()
	records, err := view.History([]byte(key))
	if err == nil && len(records) == 0 {
		_, err = view.Stats()
	}
	if err != nil {
		return nil, b.told(err, key)
	}
	for _, r := range records {
		list = append(list, entryOf(r))
	}
	return list, nil
}

// Status is what a bucket is and has.
type Status struct {
	Info
	Revision uint64 // of its last change
	Keys     uint64 // that have a value or a marker
	Values   uint64 // revisions that are kept, markers included
	Bytes    uint64 // of keys and of their newest values
}

// Status returns what the bucket is and has.
func (b *Bucket) Status() (Status, error) {
	stats, err := b.space.Stats()
	if err != nil {
		return Status{}, b.told(err, "")
	}
	return Status{b.Info, stats.Revision, stats.Keys, stats.Keys + stats.Older, stats.Bytes}, nil
}

// PurgeDeletes removes the history of keys that have no value, and of their markers those that
// are older than a time; 0: MarkersKept, less than 0: all of them. No watch is told. It returns
// how many keys are gone.
func (b *Bucket) PurgeDeletes(ctx context.Context, older time.Duration) (gone int, err error) {
	if older == 0 {
		older = MarkersKept
	}
	view, err := b.space.View()
	if err != nil {
		return 0, b.told(err, "")
	}
	defer func() { _ = view.Close() }()
	before := view.Time().Add(-max(older, 0))
	old := func(r *kv.Record) bool { return older < 0 || r.Written.Before(before) }
	var keys [][]byte
	flush := func(most int) error {
		if len(keys) < most {
			return nil
		}
		n, err := b.purgeDeleted(ctx, keys, old)
		gone, keys = gone+n, keys[:0]
		return err
	}
	for r, err := range view.Lent(ctx, nil) {
		if err == nil && isMarker(r.Form) {
			keys = append(keys, bytes.Clone(r.Key))
			err = flush(maintainKeys)
		}
		if err != nil {
			return gone, b.told(err, "")
		}
	}
	return gone, b.told(flush(1), "")
}

// purgeDeleted leaves of keys that still have no value their markers, of those that are old
// nothing, and returns of how many.
func (b *Bucket) purgeDeleted(ctx context.Context, keys [][]byte, old func(*kv.Record) bool) (gone int, err error) {
	err = b.space.Update(ctx, engine.Synced, func(tx *kv.Tx) error {
		gone = 0
		for _, key := range keys {
			r, err := tx.Get(key)
			switch {
			case errors.Is(err, kv.ErrNotFound):
				continue
			case err != nil:
				return err
			case !isMarker(r.Form): // it has been put meanwhile
				continue
			case old(&r):
				gone++
				err = tx.Erase(key)
			default:
				err = tx.Trim(key, 1)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return gone, nil
}

// Page is a part of what a bucket has.
type Page struct {
	Entries []Entry // in order of the keys
	Next    string  // the cursor of the next page; "": this is the last
}

// List returns a page of the newest revisions of the keys that begin with a prefix, markers too.
// cursor is of the page before, "" for the first one; limit is 1 to kv.MaxPage, 0 for 100. Keys that
// come and go between two pages are listed or not; the others are, once.
func (b *Bucket) List(ctx context.Context, prefix, cursor string, limit int) (Page, error) {
	found, err := b.space.List(ctx, kv.ListOptions{Prefix: []byte(prefix), Cursor: cursor, Limit: limit})
	if errors.Is(err, kv.ErrInvalidCursor) {
		err = invalid("cursor", "it is not of a page of this listing: begin without one")
	}
	if err != nil {
		return Page{}, b.told(err, "")
	}
	page := Page{Next: found.Next}
	for _, r := range found.Records {
		page.Entries = append(page.Entries, entryOf(r))
	}
	return page, nil
}
