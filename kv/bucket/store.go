package bucket

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Options say how the buckets run. The zero Options are the defaults.
type Options struct {
	Quota kv.Quota     // of a new bucket; the zero Quota: none
	Log   *slog.Logger // what the background does; nil: slog.Default
}

// Types are the types of the spaces of buckets.
func Types() []kv.Type {
	return []kv.Type{
		{System: kv.SystemBucket, Space: registrySpace, Log: 1024},
		{System: kv.SystemBucket, Others: true, Job: maintain, Indexes: []kv.Index{
			{Number: indexLast, Name: "last", Terms: lastToken},
			{Number: indexKeys, Name: "key", Keys: true},
		}},
	}
}

// Store is the buckets of a kv.Store, and needs no closing. There is one at a time for it. Any
// number of goroutines may use it at once. Its methods refuse with an [*Error]; other errors
// are those of the store, the engine or the context.
type Store struct {
	kv *kv.Store
	o  Options

	mu      sync.RWMutex
	buckets map[bucketName]*Bucket // that were asked for lately
	changed uint64                 // changes of what buckets are so far
}

// bucketName is a bucket by its name, or by an alias of a service.
type bucketName struct{ tenant, bucket, service, alias string }

// New returns the buckets of a store, to which it declares their types.
func New(store *kv.Store, o Options) (*Store, error) {
	for _, t := range Types() {
		if err := store.Declare(t); err != nil {
			return nil, err
		}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Store{kv: store, o: o, buckets: map[bucketName]*Bucket{}}, nil
}

// Config is what a bucket is to be.
type Config struct {
	Name     string        // letters, digits, _ and -, at most MaxName
	History  int           // revisions of each key that are kept, the newest included; 0: 1
	TTL      time.Duration // from its last write on that a key lasts; 0: for ever
	MaxValue uint64        // bytes of a value; 0: MaxValue
	Service  string        // whose contract declares it; "": an operator's
	Alias    string        // by which the service knows it
	Adopted  bool          // it was there before the contract, and outlives it
	// Schema is the JSON Schema that values hold to; nil: they are any bytes.
	Schema json.RawMessage
}

// check refuses what no bucket is, and fills what is 0.
func (c *Config) check() error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	if c.History == 0 {
		c.History = 1
	}
	switch {
	case c.History < 1 || c.History > MaxHistory:
		return invalid("history", "%d revisions of a key; a bucket keeps 1 to %d", c.History, MaxHistory)
	case c.TTL < 0 || c.TTL%time.Millisecond != 0:
		return invalid("ttl", "a time to live is whole milliseconds, and 0 is for ever")
	case c.MaxValue > MaxValue:
		return invalid("max_value", "a value has at most %d bytes", MaxValue)
	}
	_, err := compile(c.Name, c.Schema)
	return err
}

func checkName(name string) error {
	switch {
	case name == "":
		return invalid("bucket", "a bucket is named")
	case len(name) > MaxName:
		return invalid("bucket", "the name has %d bytes, at most %d", len(name), MaxName)
	}
	if at := strings.IndexFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
	}); at >= 0 {
		return invalid("bucket", "byte %d of the name: letters, digits, _ and - are taken", at)
	}
	return nil
}

// Info is what is known of a bucket.
type Info struct {
	Config
	Created time.Time
	space   string // its space
	schemas uint32 // how often it was given another schema
}

func (i *Info) rules() kv.Rules {
	return kv.Rules{History: i.History, TTL: i.TTL, MaxValue: i.MaxValue, Mark: i.schemas}
}

// stored is what the registry says of a bucket, in JSON, under bucket: and its name.
type stored struct {
	Space    string          `json:"space"`
	History  int             `json:"history"`
	TTLMs    int64           `json:"ttl_ms"`
	MaxValue uint64          `json:"max_value_bytes,omitempty"`
	Service  string          `json:"service,omitempty"`
	Alias    string          `json:"alias,omitempty"`
	Adopted  bool            `json:"adopted,omitempty"`
	Schema   json.RawMessage `json:"schema,omitempty"`
	Schemas  uint32          `json:"schemas,omitempty"`
	Created  time.Time       `json:"created_at"`
}

// bucketWord is what the key of a bucket in the registry begins with.
const bucketWord = "bucket:"

func keyOf(name string) []byte { return []byte(bucketWord + name) }

const (
	// goneWord is what the key of a bucket that was dropped begins with, whose value is the revision
	// that it came to, in decimal.
	goneWord = "gone:"
	// goneKept is how long that is known.
	goneKept = 365 * 24 * time.Hour
)

func keyOfGone(name string) []byte { return []byte(goneWord + name) }

func (i *Info) bytes() []byte {
	b, err := json.Marshal(stored{i.space, i.History, i.TTL.Milliseconds(), i.MaxValue, i.Service, i.Alias, i.Adopted, i.Schema, i.schemas, i.Created.UTC()})
	if err != nil { // a schema has been compiled: it is JSON
		panic(err)
	}
	return b
}

func parseInfo(key, value []byte) (Info, error) {
	var s stored
	if err := json.Unmarshal(value, &s); err != nil || s.Space == "" {
		return Info{}, fmt.Errorf("bucket: the registry's record %q: %w", key, engine.ErrCorrupt)
	}
	name := strings.TrimPrefix(string(key), bucketWord)
	return Info{Config{name, s.History, time.Duration(s.TTLMs) * time.Millisecond, s.MaxValue, s.Service, s.Alias, s.Adopted, s.Schema}, s.Created, s.Space, s.Schemas}, nil
}

// registry returns the space of what is known of a tenant's buckets; nil: it has none.
func (s *Store) registry(tenant string) (*kv.Space, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.Space(tenant, kv.SystemBucket, registrySpace)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return nil, nil
	}
	return space, told(err)
}

// Create makes a bucket, and the tenant, unless it is there. It returns ErrExists for a name
// that a bucket has.
func (s *Store) Create(ctx context.Context, tenant string, c Config) (Info, error) {
	if err := c.check(); err != nil {
		return Info{}, about(err, c.Name, "")
	}
	if tenant == "" {
		return Info{}, invalid("tenant", "a tenant is required")
	}
	var made Info
	err := s.change(ctx, tenant, func(w *kv.Work, registry *kv.Tx) (err error) {
		made, err = s.create(w, registry, tenant, c)
		return err
	})
	return made, about(err, c.Name, "")
}

// change changes what is known of a tenant's buckets, in one batch.
func (s *Store) change(ctx context.Context, tenant string, fn func(*kv.Work, *kv.Tx) error) error {
	for {
		space, err := s.kv.CreateSpace(ctx, tenant, kv.SystemBucket, registrySpace, kv.Quota{})
		if err != nil {
			return err
		}
		err = s.kv.Update(ctx, engine.Synced, func(w *kv.Work) error {
			tx, err := w.In(space)
			if err != nil {
				return err
			}
			return fn(w, tx)
		})
		if errors.Is(err, kv.ErrSpaceNotFound) { // the tenant was dropped, and may be made again
			s.kv.Forget(tenant, kv.SystemBucket, registrySpace)
			continue
		}
		s.forget(tenant)
		return err
	}
}

// forget has the buckets of a tenant looked up again.
func (s *Store) forget(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed++
	for name := range s.buckets {
		if name.tenant == tenant {
			delete(s.buckets, name)
		}
	}
}

const (
	// spacesKept is under which name the registry keeps how many spaces it has named.
	spacesKept = "spaces"
	// schemaKept is under which name a bucket keeps the schema that it was altered to.
	schemaKept = "schema"
)

// create makes a bucket, whose configuration has been checked, in a unit of work.
func (s *Store) create(w *kv.Work, registry *kv.Tx, tenant string, c Config) (Info, error) {
	key := keyOf(c.Name)
	if _, err := registry.Get(key); !errors.Is(err, kv.ErrNotFound) {
		if err == nil {
			err = refuse(CodeExists, "bucket", "there is a bucket of this name")
		}
		return Info{}, err
	}
	named, err := kept(registry, spacesKept)
	if err != nil {
		return Info{}, err
	}
	if named++; named > 1<<32 {
		return Info{}, refuse(CodeTooMany, "bucket", "there are no numbers left for new buckets")
	}
	if err := registry.Keep(spacesKept, []byte(fmt.Sprint(named))); err != nil {
		return Info{}, err
	}
	made := Info{c, w.Now().Truncate(time.Millisecond), fmt.Sprint("b", named), 0}
	space, err := w.AddSpace(tenant, kv.SystemBucket, made.space, s.o.Quota, made.rules())
	if err == nil {
		err = goOn(w, registry, c.Name, space)
	}
	if err != nil {
		return Info{}, err
	}
	_, err = registry.Put(key, made.bytes(), kv.PutOptions{})
	return made, err
}

// goOn has a new bucket begin behind what one that had its name came to, so that a watch of that one
// which is resumed hears that it is to begin anew.
func goOn(w *kv.Work, registry *kv.Tx, name string, space *kv.Space) error {
	r, err := registry.Get(keyOfGone(name))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	var last uint64
	if err == nil {
		last, err = parseGone(&r)
	}
	var tx *kv.Tx
	if err == nil {
		tx, err = w.In(space)
	}
	if err == nil {
		err = tx.Begin(last + 1)
	}
	if err == nil {
		_, err = registry.Delete(r.Key)
	}
	return err
}

func parseGone(r *kv.Record) (last uint64, err error) {
	if last, err = strconv.ParseUint(string(r.Value), 10, 64); err != nil || last == math.MaxUint64 {
		err = fmt.Errorf("%w: %s is no revision", engine.ErrCorrupt, r.Key)
	}
	return last, err
}

// kept returns a number that the registry keeps under a name; 0: none yet.
func kept(tx *kv.Tx, name string) (n uint64, err error) {
	b, err := tx.Kept(name)
	if err == nil && b != nil {
		_, err = fmt.Sscan(string(b), &n)
	}
	return n, err
}

// getter is the registry, as it is or in a unit of work.
type getter interface {
	Get(key []byte) (kv.Record, error)
}

// found returns what the registry says of a bucket, or ErrNotFound.
func found(registry getter, name string) (Info, error) {
	r, err := registry.Get(keyOf(name))
	if errors.Is(err, kv.ErrNotFound) {
		return Info{}, noBucket(name)
	}
	if err != nil {
		return Info{}, err
	}
	return parseInfo(r.Key, r.Value)
}

// Drop removes a bucket and everything in it. It returns ErrNotFound.
func (s *Store) Drop(ctx context.Context, tenant, name string) error {
	if space, err := s.registry(tenant); space == nil || err != nil {
		return cmp.Or[error](err, noBucket(name))
	}
	err := s.change(ctx, tenant, func(w *kv.Work, registry *kv.Tx) error {
		info, err := found(registry, name)
		if err != nil {
			return err
		}
		return s.drop(w, registry, &info)
	})
	return about(err, name, "")
}

// drop removes a bucket in a unit of work.
func (s *Store) drop(w *kv.Work, registry *kv.Tx, info *Info) error {
	space, err := w.Space(kv.SystemBucket, info.space)
	if err != nil {
		return err
	}
	tx, err := w.In(space)
	if err != nil {
		return err
	}
	last := strconv.AppendUint(nil, tx.Revision(), 10)
	if err := w.DropSpace(space); err != nil {
		return err
	}
	if _, err := registry.Put(keyOfGone(info.Name), last, kv.PutOptions{TTL: goneKept}); err != nil {
		return err
	}
	_, err = registry.Delete(keyOf(info.Name))
	return err
}

// Alter has a bucket be as c says from then on, whose name it has. What it has beyond that goes
// soon: older revisions that are too many, values that are too old. Values that are too long,
// or do not hold to the schema, stay as they are. It returns ErrNotFound.
func (s *Store) Alter(ctx context.Context, tenant string, c Config) (Info, error) {
	if err := c.check(); err != nil {
		return Info{}, about(err, c.Name, "")
	}
	if space, err := s.registry(tenant); space == nil || err != nil {
		return Info{}, cmp.Or[error](err, noBucket(c.Name))
	}
	var made Info
	err := s.change(ctx, tenant, func(w *kv.Work, registry *kv.Tx) (err error) {
		made, err = s.alter(w, registry, c)
		return err
	})
	return made, about(err, c.Name, "")
}

// alter is Alter in a unit of work, of a configuration that has been checked.
func (s *Store) alter(w *kv.Work, registry *kv.Tx, c Config) (Info, error) {
	was, err := found(registry, c.Name)
	if err != nil {
		return Info{}, err
	}
	made := Info{c, was.Created, was.space, was.schemas}
	space, err := w.Space(kv.SystemBucket, was.space)
	if err != nil {
		return Info{}, err
	}
	tx, err := w.In(space)
	if err != nil {
		return Info{}, err
	}
	if !bytes.Equal(was.Schema, made.Schema) { // whoever opened the bucket before is to hear of it
		made.schemas++
		if err := tx.Keep(schemaKept, made.Schema); err != nil {
			return Info{}, err
		}
	}
	if err := setRules(tx, made.rules()); err != nil {
		return Info{}, err
	}
	_, err = registry.Put(keyOf(c.Name), made.bytes(), kv.PutOptions{})
	return made, err
}

// List returns the buckets of a tenant, in order of their names.
func (s *Store) List(ctx context.Context, tenant string) (list []Info, err error) {
	space, err := s.registry(tenant)
	if space == nil || err != nil {
		return nil, err
	}
	for r, err := range space.All(ctx, []byte(bucketWord)) {
		if err != nil {
			return nil, told(err)
		}
		info, err := parseInfo(r.Key, r.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
}
