package policy

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/record"
)

// worlds are the worlds of the tenants that were asked about last, each brought up to
// what is stored before it is asked.
type worlds struct {
	kv      *kv.Store
	records *record.Store
	most    int // records

	mu       sync.Mutex
	byTenant map[string]*followed
	used     *list.List // of *followed, the one asked about last in front
	held     int        // records, of all
}

// followed is the world of a tenant, and what it is up to date with.
type followed struct {
	tenant string
	place  *list.Element // in worlds.used
	size   int           // records, as counted last; guarded by worlds.mu

	mu    sync.RWMutex // held for writing while the world is brought up to date
	world *World
	at    positions
}

// positions are how far the collections that a world is made of have come, in the order
// of followedCollections.
type positions [4]position

// position is how far a space has come. The zero position is that of one that is not
// there.
type position struct {
	scope    keys.Scope
	revision uint64
}

var followedCollections = [...]string{Agents, Delegations, Policies, TenantRules}

func newWorlds(store *kv.Store, records *record.Store, most int) worlds {
	return worlds{kv: store, records: records, most: most, byTenant: map[string]*followed{}, used: list.New()}
}

// moment is the collections that a world is made of, as they are at one.
type moment struct {
	snapshot *kv.Snapshot
	views    [len(followedCollections)]*kv.View // nil: the tenant has none
	at       positions
}

// present returns those of a tenant as they are now, to be closed.
func (w *worlds) present(tenant string) (*moment, error) {
	snapshot, err := w.kv.View()
	if err != nil {
		return nil, err
	}
	s := &moment{snapshot: snapshot}
	for i, name := range followedCollections {
		if err := s.look(w.kv, i, tenant, name); err != nil {
			_ = snapshot.Close()
			return nil, err
		}
	}
	return s, nil
}

// look finds a space in the snapshot. One that is not there any more is looked up anew: it
// may have been dropped, and made again.
func (s *moment) look(store *kv.Store, i int, tenant, name string) error {
	for range 2 {
		space, err := store.Space(tenant, kv.SystemRecord, name)
		if errors.Is(err, kv.ErrSpaceNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		view := s.snapshot.In(space)
		stats, err := view.Stats()
		if err == nil {
			s.views[i], s.at[i] = view, position{space.Scope(), stats.Revision}
			return nil
		}
		if !errors.Is(err, kv.ErrSpaceNotFound) {
			return err
		}
		store.Forget(tenant, kv.SystemRecord, name)
	}
	return nil // it was made since
}

// of returns the world of a tenant in the front of those in use, empty if it is not held.
func (w *worlds) of(tenant string) *followed {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.byTenant[tenant]
	if f == nil {
		f = &followed{tenant: tenant, world: new(World)}
		f.place = w.used.PushFront(f)
		w.byTenant[tenant] = f
	}
	w.used.MoveToFront(f.place)
	return f
}

// count takes note of how many records a world has, and lets go of those asked about
// longest ago where there are too many. Whoever has one of those goes on with it.
func (w *worlds) count(f *followed, size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTenant[f.tenant] != f {
		return
	}
	w.held += size - f.size
	f.size = size
	for w.held > w.most && w.used.Len() > 1 {
		oldest := w.used.Remove(w.used.Back()).(*followed)
		delete(w.byTenant, oldest.tenant)
		w.held -= oldest.size
	}
}

// ask calls fn with the world of a tenant as it is now, or was changed since: what was
// answered before ask is called is in it. fn is told what the world is up to date with,
// and the time.
func (w *worlds) ask(ctx context.Context, tenant string, fn func(world *World, at positions, now time.Time)) error {
	f := w.of(tenant)
	newest, known, err := w.newest(tenant)
	if err != nil {
		return err
	}
	f.mu.RLock()
	if known && f.at.reach(newest) {
		defer f.mu.RUnlock()
		fn(f.world, f.at, w.kv.Now())
		return nil
	}
	f.mu.RUnlock()
	return w.askBehind(ctx, f, fn)
}

// newest is how far the collections of a tenant have come, each read by itself, so that
// there need not have been such a moment: a world, which is of one moment, has all that was
// answered before if it is as far in each. It is not known of one that was dropped meanwhile.
func (w *worlds) newest(tenant string) (at positions, known bool, err error) {
	for i, name := range followedCollections {
		space, err := w.kv.Space(tenant, kv.SystemRecord, name)
		if errors.Is(err, kv.ErrSpaceNotFound) {
			continue
		}
		if err != nil {
			return at, false, err
		}
		stats, err := space.Stats()
		if err != nil {
			if errors.Is(err, kv.ErrSpaceNotFound) {
				err = nil
			}
			return at, false, err
		}
		at[i] = position{space.Scope(), stats.Revision}
	}
	return at, true, nil
}

// askBehind is ask of a world that is to be brought up to date first.
func (w *worlds) askBehind(ctx context.Context, f *followed, fn func(*World, positions, time.Time)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := w.present(f.tenant) // the one that is newer than that of whoever had the lock before
	if err != nil {
		return err
	}
	defer func() { _ = s.snapshot.Close() }()
	for i := range followedCollections {
		if err := w.follow(ctx, f, s, i); err != nil {
			f.world, f.at = new(World), positions{} // what is half done is done anew
			return err
		}
	}
	w.count(f, f.world.size())
	fn(f.world, f.at, s.snapshot.Time())
	return nil
}

// reach reports whether a world at p has all that is at q.
func (p *positions) reach(q positions) bool {
	for i := range p {
		if p[i].scope != q[i].scope || p[i].revision < q[i].revision {
			return false
		}
	}
	return true
}

// changesPage is how many changes are read at once.
const changesPage = 1000

// follow brings a world up to a state of a collection: by its log, or where that does
// not go back far enough by its records.
func (w *worlds) follow(ctx context.Context, f *followed, s *moment, i int) error {
	to := s.at[i]
	if f.at[i] == to {
		return nil
	}
	if f.at[i].scope != to.scope || s.views[i] == nil {
		return w.reload(ctx, f, s, i)
	}
	for f.at[i].revision < to.revision {
		changes, _, err := s.views[i].Changes(ctx, f.at[i].revision, changesPage)
		if errors.Is(err, kv.ErrTrimmed) {
			return w.reload(ctx, f, s, i)
		}
		if err != nil {
			return err
		}
		var parsed []Record
		for _, c := range changes {
			if c.Overtaken {
				continue // a later change of the record follows
			}
			d, err := w.records.Doc(followedCollections[i], c.Record)
			if err != nil {
				return err
			}
			parsed = append(parsed, parse(i, d))
			f.at[i].revision = c.Revision
		}
		f.at[i].revision = changes[len(changes)-1].Revision
		f.world.Apply(parsed...)
	}
	return nil
}

// reload reads a collection of a world anew.
func (w *worlds) reload(ctx context.Context, f *followed, s *moment, i int) error {
	parsed := f.world.removals(i)
	if s.views[i] != nil {
		for r, err := range s.views[i].All(ctx, nil) {
			if err != nil {
				return err
			}
			d, err := w.records.Doc(followedCollections[i], r)
			if err != nil {
				return err
			}
			parsed = append(parsed, parse(i, d))
		}
	}
	f.world.Apply(parsed...)
	f.at[i] = s.at[i]
	return nil
}

// kinds are those of the records of followedCollections.
var kinds = [...]Kind{KindAgent, KindDelegation, KindPolicy, KindSettings}

// parse returns what a world has of a record. What can't be parsed counts as what allows
// least.
func parse(i int, d record.Doc) Record {
	gone := Removed{kinds[i], d.ID}
	if d.JSON == nil {
		return gone
	}
	switch kinds[i] {
	case KindAgent:
		a, err := ParseAgent(d.JSON)
		if err != nil {
			a = &Agent{ID: d.ID, Status: AgentDisabled}
		}
		a.content = contentOfAgent(d.JSON)
		return a
	case KindDelegation:
		one, err := ParseDelegation(d.JSON)
		if err != nil {
			return gone
		}
		one.content = contentOfDelegation(d.JSON)
		return one
	case KindPolicy:
		p, err := ParsePolicy(d.JSON)
		if err != nil {
			return UnreadablePolicy(d.ID, err)
		}
		return p
	}
	settings, err := ParseSettings(d.JSON)
	if err != nil {
		return &Settings{DefaultDeny: true}
	}
	return settings
}

// size is how many records the world has.
func (w *World) size() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.agents) + len(w.delegations) + len(w.policies)
}

// removals take all records of a kind out of the world.
func (w *World) removals(i int) (list []Record) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	switch kinds[i] {
	case KindAgent:
		for id := range w.agents {
			list = append(list, Removed{KindAgent, id})
		}
	case KindDelegation:
		for id := range w.delegations {
			list = append(list, Removed{KindDelegation, id})
		}
	case KindPolicy:
		for id := range w.policies {
			list = append(list, Removed{KindPolicy, id})
		}
	case KindSettings:
		list = append(list, Removed{Kind: KindSettings})
	}
	return list
}
