package setting

import (
	"context"
	"errors"
	"time"

	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
)

// seen is what a tenant had set at a moment. It does not change.
type seen struct {
	at       time.Time // when it was last looked whether it is still so
	scope    keys.Scope
	revision uint64 // of the space; 0: there is none, or nothing in it
	values   Values
}

const (
	// fresh is how long nobody looks whether a tenant has changed its settings: what another
	// handle of the store changes takes effect within it. What this one changes does so at once.
	fresh = 500 * time.Millisecond
	// maxSeen is how many tenants are remembered.
	maxSeen = 1 << 14
)

// Values returns the settings of a tenant as they were less than a second ago, and after a change that this
// Store has made as they are. It reads nothing but, twice a second and tenant, one row. It must not
// be called while a batch is made. Where they can't be read they are as they were; it is logged.
func (s *Store) Values(tenant string) Values {
	now := s.kv.Now()
	s.mu.RLock()
	known, changed := s.seen[tenant], s.changed
	s.mu.RUnlock()
	if known != nil && now.Sub(known.at) < fresh {
		return known.values
	}
	found, err := s.look(tenant, now, known)
	if err != nil {
		s.log.Warn("setting: what a tenant has set can't be read: it counts as it was", "err", err)
		if found = known; known == nil {
			found = &seen{values: defaults()}
		}
		again := *found
		again.at, found = now, &again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != changed {
		return found.values // and is asked again: it may have been read before the change
	}
	if len(s.seen) >= maxSeen && known == nil {
		for other := range s.seen { // any one
			delete(s.seen, other)
			break
		}
	}
	s.seen[tenant] = found
	return found.values
}

// forget has what a tenant has set be read again: it was changed.
func (s *Store) forget(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed++
	delete(s.seen, tenant)
}

// look reads what a tenant has set, unless it is what is known.
func (s *Store) look(tenant string, now time.Time, known *seen) (*seen, error) {
	found := &seen{at: now, values: defaults()}
	space, err := s.space(tenant)
	if space == nil || err != nil {
		return found, err
	}
	view, err := space.View()
	if err != nil {
		return nil, told(err)
	}
	defer func() { _ = view.Close() }()
	stats, err := view.Stats()
	if errors.Is(err, kv.ErrSpaceNotFound) { // dropped just now
		return found, nil
	}
	if err != nil {
		return nil, told(err)
	}
	found.scope, found.revision = space.Scope(), stats.Revision
	if known != nil && known.scope == found.scope && known.revision == found.revision {
		found.values = known.values
		return found, nil
	}
	return found, found.read(view)
}

// read takes the values from records. One that does not make sense counts as not set:
// [Fault] finds it.
func (f *seen) read(view *kv.View) error {
	for r, err := range view.All(context.Background(), nil) {
		if err != nil {
			return told(err)
		}
		if d, err := find(string(r.Key)); err == nil {
			_ = d.read(&f.values, r.Value)
		}
	}
	f.values = f.values.bounded()
	return nil
}

// Locks are the values by which locks of a tenant go, for Config of lock.Options.
func (s *Store) Locks(tenant string) lock.Config {
	v := s.Values(tenant)
	return lock.Config{DefaultTTL: v.LockDefaultTTL, MaxTTL: v.LockMaxTTL, Heartbeat: v.LockHeartbeat, AcquireLimit: v.LockAcquireLimit, IgnoreDeadlocks: !v.DeadlockDetection}
}

// Fault is what is wrong with a record of the space of settings, looked at by itself; "":
// nothing.
func Fault(r *kv.Record) string {
	d, err := find(string(r.Key))
	if err != nil || d.name != string(r.Key) {
		return "there is no setting of this name"
	}
	value, err := d.canonical(r.Value)
	switch {
	case err != nil:
		return err.Error()
	case string(value) != string(r.Value):
		return "its value is not in canonical form"
	case !r.Expires.IsZero():
		return "it expires"
	}
	return ""
}
