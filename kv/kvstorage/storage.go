package kvstorage

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// Storage is the capability on a store. Any number of goroutines may use it at
// once. Every method refuses with an [*Error]; other errors are the store's, the
// engine's or the context's.
type Storage struct {
	store *kv.Store
	o     Options
}

// space is the name of the space that a tenant's values are in.
const space = "kv"

// New returns the capability on a store, whose type it declares.
func New(store *kv.Store, o Options) (*Storage, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := store.Declare(Type()); err != nil {
		return nil, err
	}
	return &Storage{store, o}, nil
}

// Type is what the records of the capability are, for stores that are opened
// without it.
func Type() kv.Type { return kv.Type{System: kv.SystemStorage, Space: space} }

// The forms of values: JSON in canonical form, or an int64 in decimal digits,
// which increment made.
const (
	formJSON    = 1
	formCounter = 2
)

// Item is what a key has. The zero Item is nothing.
type Item struct {
	Found    bool
	Key      string
	Value    json.RawMessage // canonical; null if nothing is found
	Revision uint64          // of the last change; 0 if nothing is found
	Created  uint64          // the revision of the put since which the key has been there
	Written  time.Time       // when the last change was made
	Expires  time.Time       // zero: never
	// Remaining is how long the value is still there, at the time of the answer; 0
	// if it never expires.
	Remaining time.Duration

	counter bool
}

var null = json.RawMessage("null")

func nothing(key string) Item { return Item{Key: key, Value: null} }

// item is what a record is to clients, at a time.
func item(key string, r kv.Record, now func() time.Time) Item {
	i := Item{Found: true, Key: key, Value: shown(r), Revision: r.Revision, Created: r.Created, Written: r.Written, Expires: r.Expires, counter: r.Form == formCounter}
	if !r.Expires.IsZero() {
		i.Remaining = max(r.Expires.Sub(now()), 0)
	}
	return i
}

func (s *Storage) item(r kv.Record) Item { return item(string(r.Key), r, s.store.Now) }

// shown is a value as clients see it: an integer that is not exact as a double is
// a string. Others share memory with the record.
func shown(r kv.Record) json.RawMessage {
	if r.Form == formCounter {
		if n, err := strconv.ParseInt(string(r.Value), 10, 64); err == nil && (n > document.MaxSafe || n < -document.MaxSafe) {
			return document.FromText(string(r.Value))
		}
	}
	return json.RawMessage(r.Value)
}

// WriteOptions are those of every operation that writes.
type WriteOptions struct {
	TTLSeconds *int64 // nil: put stores for ever, others leave it as it is
	Durability engine.Durability
}

// checkTenant refuses a tenant that has no name. The store refuses long ones.
func checkTenant(tenant string) error {
	if tenant == "" {
		return refuse(InvalidArgument, "tenant", "a tenant is required")
	}
	return nil
}

// begin checks what every operation does.
func (s *Storage) begin(tenant string) error {
	if s.o.Off {
		return missing("kvStorage")
	}
	return checkTenant(tenant)
}

func (s *Storage) checkKey(key []byte) error {
	switch {
	case len(key) == 0:
		return refuse(InvalidArgument, "key", "a key has at least one byte")
	case len(key) > s.o.MaxKeyBytes:
		return tooLarge(KeyTooLarge, "key", "maxKeyBytes", uint64(s.o.MaxKeyBytes), uint64(len(key)))
	case !utf8.Valid(key):
		return refuse(InvalidArgument, "key", "a key is UTF-8")
	}
	return nil
}

// canonical is the form of JSON in which values are stored and compared.
func canonical(field string, text []byte) (json.RawMessage, error) {
	out, err := document.Canonical(text)
	if err != nil {
		return nil, refuse(InvalidArgument, field, "%s", err)
	}
	return out, nil
}

// canonical is the canonical form of a value, if it is not too large.
func (s *Storage) canonical(field string, value []byte) (json.RawMessage, error) {
	if len(value) > s.o.MaxValueBytes { // white space and escapes may be what it has more
		if least := document.Measure(value).AtLeast; least > s.o.MaxValueBytes {
			return nil, tooLarge(ValueTooLarge, field, "maxValueBytes", uint64(s.o.MaxValueBytes), uint64(least))
		}
	}
	canonical, err := canonical(field, value)
	if err != nil {
		return nil, err
	}
	if len(canonical) > s.o.MaxValueBytes {
		return nil, tooLarge(ValueTooLarge, field, "maxValueBytes", uint64(s.o.MaxValueBytes), uint64(len(canonical)))
	}
	return canonical, nil
}

func (s *Storage) ttl(seconds *int64) (time.Duration, error) {
	switch {
	case seconds == nil:
		return 0, nil
	case *seconds < 1:
		return 0, refuse(InvalidArgument, "ttlSeconds", "a time to live is a whole number of seconds, at least 1")
	case *seconds > s.o.MaxTTLSeconds:
		return 0, tooLarge(TTLExceedsMax, "ttlSeconds", "maxTtlSeconds", uint64(s.o.MaxTTLSeconds), uint64(*seconds))
	}
	return time.Duration(*seconds) * time.Second, nil
}

// read returns the space of a tenant; nil if it has none, as one that never wrote.
func (s *Storage) read(tenant string) (*kv.Space, error) {
	if err := s.begin(tenant); err != nil {
		return nil, s.clientError(err)
	}
	found, err := s.store.Space(tenant, kv.SystemStorage, space)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return nil, nil
	}
	return found, s.clientError(err)
}

// look is read with a check of a key.
func (s *Storage) look(tenant string, key []byte) (*kv.Space, error) {
	found, err := s.read(tenant)
	if err == nil {
		err = s.clientError(s.checkKey(key))
	}
	return found, err
}

// update changes the space of a tenant, which it makes if there is none.
func (s *Storage) update(ctx context.Context, tenant string, d engine.Durability, fn func(*kv.Tx) error) error {
	for {
		found, err := s.store.CreateSpace(ctx, tenant, kv.SystemStorage, space, s.o.Quota)
		if err == nil {
			err = found.Update(ctx, d, fn)
		}
		if !errors.Is(err, kv.ErrSpaceNotFound) {
			return s.clientError(err)
		} // it was dropped in between: it is made anew
		s.store.Forget(tenant, kv.SystemStorage, space)
	}
}

// Get returns what a key has; nothing is no error.
func (s *Storage) Get(ctx context.Context, tenant, key string) (Item, error) {
	_, i, err := s.Find(ctx, tenant, []byte(key), nil)
	i.Key = key
	return i, err
}

// Find is Get for callers that bring memory: it returns dst with some bytes
// appended, of which the value may be a part. The item has no Key.
func (s *Storage) Find(ctx context.Context, tenant string, key, dst []byte) ([]byte, Item, error) {
	found, err := s.look(tenant, key)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil || found == nil {
		return dst, nothing(""), err
	}
	dst, r, err := found.Find(dst, key)
	if errors.Is(err, kv.ErrNotFound) {
		return dst, nothing(""), nil
	}
	if err != nil {
		return dst, nothing(""), s.clientError(err)
	}
	return dst, item("", r, s.store.Now), nil
}

// Put stores a value, and a time to live; without one it is there for ever, even
// if what it replaces was not.
func (s *Storage) Put(ctx context.Context, tenant, key string, value []byte, o WriteOptions) (Item, error) {
	return s.writeItem(ctx, tenant, Change{Op: OpPut, Key: key, Value: value, TTLSeconds: o.TTLSeconds}, o.Durability)
}

// Delete removes what a key has, and says whether there was anything.
func (s *Storage) Delete(ctx context.Context, tenant, key string, o WriteOptions) (Deleted, error) {
	if found, err := s.look(tenant, []byte(key)); err != nil || found == nil { // nothing is made for a tenant that has nothing
		return Deleted{Item: nothing(key)}, err
	}
	r, err := s.write(ctx, tenant, Change{Op: OpDelete, Key: key}, o.Durability)
	return deleted(r), err
}

// Touch sets the time to live of what a key has; without one it is there for
// ever. Found is false if there is nothing.
func (s *Storage) Touch(ctx context.Context, tenant, key string, o WriteOptions) (Item, error) {
	if found, err := s.look(tenant, []byte(key)); err != nil || found == nil {
		return nothing(key), err
	}
	return s.writeItem(ctx, tenant, Change{Op: OpTouch, Key: key, TTLSeconds: o.TTLSeconds}, o.Durability)
}

// Increment adds delta to an integer, 0 if there is nothing, and returns the
// result. What is there keeps its time to live unless a new one is given. It
// refuses with kv_not_a_number, and with kv_overflow where the result is no
// int64.
func (s *Storage) Increment(ctx context.Context, tenant, key string, delta int64, o WriteOptions) (Item, error) {
	return s.writeItem(ctx, tenant, Change{Op: OpIncrement, Key: key, Delta: delta, TTLSeconds: o.TTLSeconds}, o.Durability)
}

// counted is the integer that a value is to increment: one that stands as a
// number, or beyond what is exact as a double as its digits in a string, which is
// how it is shown.
func counted(value []byte) (int64, bool) {
	n, ok := integer(value)
	return n, ok && (value[0] != '"' || n > document.MaxSafe || n < -document.MaxSafe)
}

// increment returns the integer of a record and delta.
func increment(r kv.Record, delta int64) ([]byte, error) {
	n := int64(0)
	if r.Kind == kv.Put {
		var ok bool
		if n, ok = counted(r.Value); !ok {
			return nil, refuse(NotANumber, "key", "its value is not an integer of 64 bits")
		}
	}
	if delta > 0 && n > math.MaxInt64-delta || delta < 0 && n < math.MinInt64-delta {
		return nil, refuse(Overflow, "delta", "the result is beyond 64 bits")
	}
	return strconv.AppendInt(nil, n+delta, 10), nil
}
