package kv

import (
	"context"
	"errors"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Space is a small ordered database of one tenant. Any number of goroutines may
// use it at once. Once it is dropped every method returns ErrSpaceNotFound, or finds
// nothing.
type Space struct {
	store *Store
	scope keys.Scope
	typ   *Type
}

type spaceName struct {
	tenant string
	system System
	space  string
}

// maxSpaces is how many spaces are remembered by name.
const maxSpaces = 1 << 14

// Space returns the space of a tenant that a declared type names. It returns
// ErrSpaceNotFound if the tenant has none, ErrInvalidTenant if the name is too long,
// ErrInvalidArgument if the type is not declared.
func (s *Store) Space(tenant string, system System, space string) (*Space, error) {
	name := spaceName{tenant, system, space}
	s.mu.RLock()
	found := s.spaces[name]
	s.mu.RUnlock()
	if found != nil {
		return found, s.open()
	}
	s.mu.RLock()
	number, known, drops := s.numbers[typeName{system, space}], s.knows(typeName{system, space}), s.drops
	other := known && s.declared[typeName{system, space}] == nil
	s.mu.RUnlock()
	if err := s.known(tenant, known); err != nil {
		return nil, err
	}
	if other { // one of those that have a type together is looked up by its name
		var err error
		if number, err = spaceNumber(s.db, system, space); err != nil {
			return nil, err
		}
	}
	if number == 0 { // nobody has made one yet
		return nil, noSpace()
	}
	t, err := lookTenant(s.get, tenant)
	if err != nil {
		return nil, err
	}
	scope := keys.NewKVScope(uint8(system), number, t.number)
	if _, err := s.get(Row{Scope: scope, Shape: ShapeMeta}.AppendKey(nil)); errors.Is(err, engine.ErrNotFound) {
		return nil, noSpace()
	} else if err != nil {
		return nil, err
	}
	return s.opened(name, scope, drops), nil
}

// Remembered is Space of one that is remembered under its name, without reading anything:
// it may be asked for while a batch is made. nil: it is to be asked for by Space.
func (s *Store) Remembered(tenant string, system System, space string) *Space {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.spaces[spaceName{tenant, system, space}]
}

func (s *Store) known(tenant string, declared bool) error {
	if err := s.open(); err != nil {
		return err
	}
	if !declared {
		return invalid("type", "the type of the space is not declared")
	}
	return checkTenant(tenant)
}

// opened remembers a space under its name, unless a tenant has been dropped since
// it was looked up.
func (s *Store) opened(name spaceName, scope keys.Scope, drops uint64) *Space {
	s.mu.Lock()
	defer s.mu.Unlock()
	space := &Space{store: s, scope: scope, typ: s.types.of(scope)}
	if drops != s.drops {
		return space
	}
	if len(s.spaces) >= maxSpaces {
		for other := range s.spaces { // any one
			delete(s.spaces, other)
			break
		}
	}
	s.spaces[name] = space
	return space
}

// CreateSpace is Space, but makes what is missing: the space, with a quota, and
// the tenant. The quota of a space that is there stays.
func (s *Store) CreateSpace(ctx context.Context, tenant string, system System, space string, quota Quota) (*Space, error) {
	found, _, err := s.OpenSpace(ctx, tenant, system, space, quota)
	return found, err
}

// OpenSpace is CreateSpace, and says whether it was this call that made the
// space.
func (s *Store) OpenSpace(ctx context.Context, tenant string, system System, space string, quota Quota) (found *Space, created bool, err error) {
	found, err = s.Space(tenant, system, space)
	if !errors.Is(err, ErrSpaceNotFound) {
		return found, false, err
	}
	number, err := s.number(ctx, typeName{system, space})
	if err != nil {
		return nil, false, err
	}
	s.mu.RLock()
	drops := s.drops
	s.mu.RUnlock()
	var scope keys.Scope
	err = s.update(ctx, engine.Synced, func(u *unit) (err error) {
		scope, created, err = u.addSpace(tenant, system, number, quota, Rules{})
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return s.opened(spaceName{tenant, system, space}, scope, drops), created, nil
}

// Forget makes the next call of Space look a space up that was remembered under
// its name, as a handle to it answered ErrSpaceNotFound.
func (s *Store) Forget(tenant string, system System, space string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.spaces, spaceName{tenant, system, space})
}

// Scope is the beginning of the keys of the space's rows.
func (s *Space) Scope() keys.Scope { return s.scope }

// Update changes the space by what fn does, in one batch, once that is as
// durable as d says. fn runs while all other writes wait: it must not block, nor
// use the store but through the Tx. It may run more than once; only its last run
// counts. If it returns an error nothing is written, and Update returns it. A
// change beyond the quota is ErrQuotaExhausted. ctx is looked at before the
// batch waits for its turn; from then on it takes its course.
func (s *Space) Update(ctx context.Context, d engine.Durability, fn func(*Tx) error) error {
	return s.store.update(ctx, d, func(u *unit) error {
		if err := u.expected(ctx); err != nil {
			return err
		}
		tx, err := u.tx(s.scope, s.typ)
		if err != nil {
			return err
		}
		return fn(tx)
	})
}

// Put is Tx.Put in a batch of its own. Value of the result is the caller's.
func (s *Space) Put(ctx context.Context, key, value []byte, o PutOptions) (r Record, err error) {
	err = s.Update(ctx, engine.Synced, func(tx *Tx) (err error) {
		r, err = tx.Put(key, value, o)
		return err
	})
	return r, err
}

// Delete is Tx.Delete in a batch of its own, and says whether there was a
// record.
func (s *Space) Delete(ctx context.Context, key []byte) (existed bool, err error) {
	err = s.Update(ctx, engine.Synced, func(tx *Tx) error {
		_, err := tx.Delete(key)
		existed = err == nil
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return existed, err
}

// SetQuota sets what the space may hold. What it holds beyond that stays.
func (s *Space) SetQuota(ctx context.Context, q Quota) error {
	return s.Update(ctx, engine.Synced, func(tx *Tx) error {
		tx.meta.Quota = q
		return nil
	})
}

// now returns a view of the present, whose reads each see the newest state.
func (s *Space) now() *View {
	return &View{store: s.store, reader: s.store.db, scope: s.scope, typ: s.typ}
}

// View returns the space as it is now, which stays so. It holds back the room of
// what is overwritten until it is closed. [Store.View] is one of several spaces.
func (s *Space) View() (*View, error) {
	snapshot, err := s.store.View()
	if err != nil {
		return nil, err
	}
	v := snapshot.In(s)
	v.own = snapshot
	return v, nil
}

// Seen returns a view of the space as a reader of the store's engine sees it, such as
// who makes a batch of the engine, whose expectations records of the space are. It is
// valid for as long as the reader.
func (s *Space) Seen(r engine.Reader) *View {
	return &View{store: s.store, reader: r, scope: s.scope, typ: s.typ}
}

// Get returns the record of key, whose bytes are the caller's, or ErrNotFound.
func (s *Space) Get(key []byte) (Record, error) { return s.now().Get(key) }

// Find is Get for callers that bring memory: it returns dst with some bytes
// appended, of which those of the record are a part.
func (s *Space) Find(dst, key []byte) ([]byte, Record, error) {
	v := View{store: s.store, reader: s.store.db, scope: s.scope, typ: s.typ}
	if err := v.readable(key); err != nil {
		return dst, Record{}, err
	}
	start := len(dst)
	dst = Row{Scope: v.scope, Shape: ShapeRecord, Key: key}.AppendKey(dst)
	return v.find(dst, dst[start:len(dst):len(dst)])
}

// Stats returns the counters of the space.
func (s *Space) Stats() (Stats, error) { return s.now().Stats() }

// View reads a space. Any number of goroutines may use it at once.
type View struct {
	store  *Store
	reader engine.Reader
	still  bool // it is of one moment, which is at
	at     uint64
	own    *Snapshot // what is closed with the view; nil: nothing
	scope  keys.Scope
	typ    *Type
}

// Close gives back what the view holds. Later calls return engine.ErrClosed. A view
// that is a part of a [Snapshot] is closed with that, and Close does nothing.
func (v *View) Close() error {
	if v.own == nil {
		return nil
	}
	return v.own.Close()
}

// time is when what has expired is found absent.
func (v *View) time() uint64 {
	if v.still {
		return v.at
	}
	return v.store.line.now()
}

// Time is when what has expired is found absent.
func (v *View) Time() time.Time { return timeOf(v.time()) }

// Get returns the record of key, whose bytes are the caller's, or ErrNotFound if
// there is none or it has expired.
func (v *View) Get(key []byte) (Record, error) {
	if err := v.readable(key); err != nil {
		return Record{}, err
	}
	row := make([]byte, 0, len(v.scope)+1+len(key))
	row = Row{Scope: v.scope, Shape: ShapeRecord, Key: key}.AppendKey(row)
	_, r, err := v.find(nil, row)
	return r, err
}

func (v *View) readable(key []byte) error {
	if err := v.store.open(); err != nil {
		return err
	}
	return checkKey(key)
}

// find appends what is stored under the row of a record to dst, and returns the
// record, whose key is a part of row and whose value is one of dst.
func (v *View) find(dst, row []byte) ([]byte, Record, error) {
	dst, r, err := v.stored(dst, row)
	if err == nil && r.expires != 0 && r.expired(v.time()) {
		return dst, Record{}, notFound()
	}
	return dst, r, err
}

// stored is find of a record that may have expired.
func (v *View) stored(dst, row []byte) ([]byte, Record, error) {
	start := len(dst)
	dst, err := v.reader.Get(dst, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return dst, Record{}, notFound()
	}
	if err != nil {
		return dst, Record{}, err
	}
	r, err := parseRecord(row, row[len(v.scope)+1:], dst[start:len(dst):len(dst)])
	return dst, r, err
}

// Stats returns the counters of the space.
func (v *View) Stats() (Stats, error) {
	row := Row{Scope: v.scope, Shape: ShapeMeta}.AppendKey(nil)
	value, err := v.reader.Get(nil, column.Generic, row)
	if errors.Is(err, engine.ErrNotFound) {
		return Stats{}, noSpace()
	}
	if err != nil {
		return Stats{}, err
	}
	return parseMeta(row, value)
}
