package setting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Options say how the settings run. The zero Options are the defaults.
type Options struct {
	Log *slog.Logger // of settings that can't be read; nil: slog.Default
}

// spaceName is the space of a tenant's settings.
const spaceName = "setting"

// Type is the type of the spaces of settings.
func Type() kv.Type { return kv.Type{System: kv.SystemSetting, Space: spaceName, Log: 1024} }

// Store is the settings of a kv.Store, and needs no closing. Any number of goroutines may
// use it at once. Its methods refuse with an [*Error]; other errors are those of the store,
// the engine or the context.
type Store struct {
	kv  *kv.Store
	log *slog.Logger

	mu      sync.RWMutex
	seen    map[string]*seen // what tenants have set that were asked about lately
	changed uint64           // changes by this store so far
}

// New returns the settings of a store, to which it declares their type.
func New(store *kv.Store, o Options) (*Store, error) {
	if err := store.Declare(Type()); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Store{kv: store, log: o.Log, seen: map[string]*seen{}}, nil
}

// Setting is what a setting of a tenant is.
type Setting struct {
	Name     string          // its literal key
	Value    json.RawMessage // in canonical form; the default, if none is set
	Set      bool            // the tenant has set it
	Default  json.RawMessage
	About    string    // for people
	Revision uint64    // of the change that set it; 0: it is not set
	Written  time.Time // when; zero: it is not set
}

// setting is what a record says of a setting; nil: it is not set.
func (d *definition) setting(r *kv.Record) Setting {
	s := Setting{Name: Prefix + d.name, Value: json.RawMessage(d.plain), Default: json.RawMessage(d.plain), About: d.about}
	if r != nil {
		s.Value, s.Set, s.Revision, s.Written = bytes.Clone(r.Value), true, r.Revision, r.Written
	}
	return s
}

// space returns that of a tenant's settings; nil: it has none.
func (s *Store) space(tenant string) (*kv.Space, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.Space(tenant, kv.SystemSetting, spaceName)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return nil, nil
	}
	return space, told(err)
}

// Get returns a setting by its name. It returns ErrValidation for a name that none has.
func (s *Store) Get(tenant, name string) (Setting, error) {
	d, err := find(name)
	if err != nil {
		return Setting{}, err
	}
	space, err := s.space(tenant)
	if space == nil || err != nil {
		return d.setting(nil), err
	}
	r, err := space.Get([]byte(d.name))
	if errors.Is(err, kv.ErrNotFound) {
		return d.setting(nil), nil
	}
	if err != nil {
		return Setting{}, told(err)
	}
	return d.setting(&r), nil
}

// List returns all settings of a tenant, those too that it has not set, as they are at one
// moment: the order is always the same.
func (s *Store) List(ctx context.Context, tenant string) ([]Setting, error) {
	space, err := s.space(tenant)
	if err != nil {
		return nil, err
	}
	set := map[string]*kv.Record{}
	if space != nil {
		view, err := space.View()
		if err != nil {
			return nil, told(err)
		}
		defer func() { _ = view.Close() }()
		for r, err := range view.All(ctx, nil) {
			if err != nil {
				return nil, told(err)
			}
			set[string(r.Key)] = &r
		}
	}
	list := make([]Setting, len(definitions))
	for i := range definitions {
		list[i] = definitions[i].setting(set[definitions[i].name])
	}
	return list, nil
}

// Check returns what Set refuses of a name or a value; nil: nothing.
func Check(name string, value []byte) error {
	d, err := find(name)
	if err == nil {
		_, err = d.canonical(value)
	}
	return err
}

// Set sets a setting to a value, which is JSON, and returns it then. The value that it has
// is no change, and takes no revision. It returns ErrValidation for a name that no setting has, and for a value
// that is not of its type.
func (s *Store) Set(ctx context.Context, tenant, name string, value []byte, durability engine.Durability) (Setting, error) {
	d, err := find(name)
	if err != nil {
		return Setting{}, err
	}
	value, err = d.canonical(value)
	if err != nil {
		return Setting{}, err
	}
	if tenant == "" {
		return Setting{}, invalid("tenant", "a tenant is required")
	}
	var set Setting
	err = s.update(ctx, tenant, durability, func(tx *kv.Tx) error {
		r, err := tx.Get([]byte(d.name))
		if err == nil && !bytes.Equal(r.Value, value) || errors.Is(err, kv.ErrNotFound) {
			r, err = tx.Put([]byte(d.name), value, kv.PutOptions{})
		}
		if err == nil {
			set = d.setting(&r)
		}
		return err
	})
	return set, told(err)
}

// update changes the space of a tenant, which it makes if there is none.
func (s *Store) update(ctx context.Context, tenant string, durability engine.Durability, fn func(*kv.Tx) error) error {
	defer s.forget(tenant)
	for {
		space, err := s.kv.CreateSpace(ctx, tenant, kv.SystemSetting, spaceName, kv.Quota{})
		if err == nil {
			err = space.Update(ctx, durability, fn)
		}
		if !errors.Is(err, kv.ErrSpaceNotFound) {
			return err
		} // it was dropped in between: it is made anew
		s.kv.Forget(tenant, kv.SystemSetting, spaceName)
	}
}

// Delete has a setting be its default again, and says whether it was set.
func (s *Store) Delete(ctx context.Context, tenant, name string, durability engine.Durability) (was bool, err error) {
	d, err := find(name)
	if err != nil {
		return false, err
	}
	space, err := s.space(tenant)
	if space == nil || err != nil { // nothing is made for a tenant that has nothing
		return false, err
	}
	defer s.forget(tenant)
	err = space.Update(ctx, durability, func(tx *kv.Tx) error {
		_, err := tx.Delete([]byte(d.name))
		return err
	})
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrSpaceNotFound) {
		return false, nil
	}
	return err == nil, told(err)
}

// Event is what a watcher is told; see [kv.Event].
type Event struct {
	Kind     kv.EventKind
	Revision uint64  // to go on after
	Setting  Setting // of put and delete, as it is since then
}

// Watch yields the settings that a tenant has set, and then each change of one, in order,
// without gap and without repetition; see [kv.Space.Watch]. A tenant that has nothing gets its space by it.
func (s *Store) Watch(ctx context.Context, tenant string, start kv.WatchStart, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if tenant == "" {
			yield(Event{}, invalid("tenant", "a tenant is required"))
			return
		}
		space, err := s.kv.CreateSpace(ctx, tenant, kv.SystemSetting, spaceName, kv.Quota{})
		if err != nil {
			yield(Event{}, told(err))
			return
		}
		for e, err := range space.Watch(ctx, kv.WatchOptions{Start: start, After: after}) {
			if err != nil {
				yield(Event{}, told(err))
				return
			}
			out := Event{Kind: e.Kind, Revision: e.Revision}
			if e.Record.Key != nil {
				d, err := find(string(e.Record.Key))
				if err != nil {
					continue // of a build that knows more
				}
				if out.Setting = d.setting(nil); e.Kind == kv.EventPut {
					out.Setting = d.setting(&e.Record)
				}
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}
