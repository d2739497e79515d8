package kv

import (
	"encoding/binary"
	"time"

	"github.com/stoadb/stoa/keys"
)

// Rules say what one of the spaces keeps that have a type together (Type.Others).
type Rules struct {
	History  int           // revisions of each key, the newest included: 1 to MaxHistory
	TTL      time.Duration // of what is put without one; 0: it never expires
	MaxValue uint64        // bytes of a value; 0: MaxValue
	Mark     uint32        // a number of who has the space, that goes with the other rules
}

// check refuses rules that no space has.
func (r *Rules) check() error {
	switch {
	case r.History < 1 || r.History > MaxHistory:
		return invalid("history", "%d revisions of a key; a space keeps 1 to %d", r.History, MaxHistory)
	case r.TTL < 0 || r.TTL > maxTTL:
		return invalid("ttl", "a time to live is 0, for ever, or at most %s", maxTTL)
	case r.TTL%time.Millisecond != 0:
		return invalid("ttl", "a time to live is whole milliseconds")
	case r.MaxValue > MaxValue:
		return invalid("max_value", "a value has at most %d bytes", MaxValue)
	}
	return nil
}

// rulesBytes is the length of the rules of a space in its meta row:
//
//	history u32 ‖ mark u32 ‖ time to live u64 ms ‖ largest value u64
const rulesBytes = 3 * 8

func (r *Rules) append(dst []byte) []byte {
	for _, n := range [...]uint64{uint64(r.Mark)<<32 | uint64(r.History), uint64(r.TTL / time.Millisecond), r.MaxValue} {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	return dst
}

func parseRules(row, src []byte) (Rules, error) {
	history, mark, ttl := binary.LittleEndian.Uint32(src), binary.LittleEndian.Uint32(src[4:]), binary.LittleEndian.Uint64(src[8:])
	r := Rules{History: int(min(history, MaxHistory+1)), TTL: time.Duration(min(ttl, maxTime)) * time.Millisecond, MaxValue: binary.LittleEndian.Uint64(src[16:]), Mark: mark}
	if r.check() != nil || ttl > maxTime {
		return r, damaged(row, "rules that no space has")
	}
	return r, nil
}

// SetRules sets what a space keeps from now on. What it has stays as it is: what is to go is
// up to [Tx.Trim] and [Tx.Rearm]. It returns ErrInvalidArgument for rules that are out of
// their bounds.
func (tx *Tx) SetRules(r Rules) error {
	if err := r.check(); err != nil {
		return err
	}
	if !tx.typ.Others {
		return invalid("rules", "the space has those of its type")
	}
	tx.meta.Rules = r
	return nil
}

// Begin has a space, which nothing has changed yet, begin behind a revision, as if it had come to
// it and its log no longer had what led there.
func (tx *Tx) Begin(revision uint64) error {
	if tx.meta.Revision != 0 {
		return invalid("revision", "the space has begun: it has revision %d", tx.meta.Revision)
	}
	tx.meta.Revision, tx.meta.Floor = revision, revision
	return nil
}

// Rules are what the space keeps.
func (tx *Tx) Rules() Rules { return tx.meta.Rules }

// Rearm sets the form of the record of key and when it expires, the zero time: never, as no
// change that anybody is told: it has the revision that it had. It returns ErrNotFound.
func (tx *Tx) Rearm(key []byte, form uint8, expires time.Time) error {
	old, err := tx.Get(key)
	if err != nil {
		return err
	}
	r := old
	r.Form = form
	if r.expires = 0; !expires.IsZero() {
		r.expires = momentOf(expires)
	}
	if r.expires == old.expires && r.Form == old.Form {
		return nil
	}
	if r.expires != old.expires {
		tx.rearm(old, r)
	}
	tx.u.scratch = appendRecord(tx.u.scratch[:0], &r)
	tx.u.put(tx.u.key(Row{Scope: tx.scope, Shape: ShapeRecord, Key: key}), tx.u.scratch)
	return nil
}

// Erase removes the record of key and what it was before, as no change that anybody is told.
// It returns ErrNotFound.
func (tx *Tx) Erase(key []byte) error {
	old, err := tx.Get(key)
	if err != nil {
		return err
	}
	tx.meta.Keys--
	tx.meta.Bytes -= uint64(len(old.Key) + len(old.Value))
	tx.rearm(old, Record{Key: old.Key})
	if err := tx.reindex(old, Record{Key: old.Key}); err != nil {
		return err
	}
	tx.u.delete(tx.u.key(Row{Scope: tx.scope, Shape: ShapeRecord, Key: key}))
	return tx.Trim(key, 1)
}

// AddSpace makes a space of a tenant, of a type that says so (Type.Others), in the unit of
// work. It returns ErrInvalidArgument where the name is another's, or the rules are out of
// their bounds. The tenant is that of the unit of work.
func (w *Work) AddSpace(tenant string, system System, name string, quota Quota, r Rules) (*Space, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	s := w.u.store
	s.mu.RLock()
	t, taken := s.types[typeKey{system: system}], s.declared[typeName{system, name}] != nil
	s.mu.RUnlock()
	if t == nil || taken {
		return nil, invalid("type", "no type is declared that such spaces have together")
	}
	if err := checkName("space", name); err != nil {
		return nil, err
	}
	number, err := w.u.numberSpace(system, name)
	if err != nil {
		return nil, err
	}
	scope, created, err := w.u.addSpace(tenant, system, number, quota, r)
	if err == nil && len(w.u.spaces) > 0 && w.u.spaces[0].scope.Tenant() != scope.Tenant() {
		err = invalid("space", "the space is of another tenant: a unit of work is of one tenant, and each has its own")
	}
	if err == nil && !created {
		err = invalid("space", "the tenant has a space of this name")
	}
	if err != nil {
		return nil, err
	}
	return &Space{store: s, scope: scope, typ: t}, nil
}

// Space returns the space of a type that others have too (Type.Others), by its name, of the tenant that
// the unit of work has a space of already. It returns ErrSpaceNotFound.
func (w *Work) Space(system System, name string) (*Space, error) {
	s := w.u.store
	s.mu.RLock()
	t := s.types[typeKey{system: system}]
	s.mu.RUnlock()
	if t == nil || len(w.u.spaces) == 0 {
		return nil, invalid("type", "no type is declared that such spaces have together, or the tenant is not known")
	}
	number, err := w.u.number(Row{Shape: ShapeSpace, Kind: byte(system), Key: []byte(name)})
	if err != nil {
		return nil, err
	}
	if number == 0 {
		return nil, noSpace()
	}
	space := &Space{store: s, scope: keys.NewKVScope(uint8(system), uint32(number), w.u.spaces[0].scope.Tenant()), typ: t}
	_, err = w.In(space)
	return space, err
}

// DropSpace removes a space and everything in it, in the unit of work, which changes nothing
// of it before or after. It returns ErrSpaceNotFound if it has been dropped. A name that had a space
// must not be given to another: what is signed for the one would hold for the other.
func (w *Work) DropSpace(s *Space) error {
	tx, err := w.In(s)
	if err != nil {
		return err
	}
	number := s.scope.Tenant()
	name, err := w.u.get(w.u.key(Row{Shape: ShapeTenantName, Number: number}))
	if err != nil {
		return err
	}
	t, err := lookTenant(w.u.get, string(name))
	if err != nil {
		return err
	}
	t.spaces--
	w.u.put(w.u.key(Row{Shape: ShapeTenant, Key: name}), t.bytes())
	w.u.delete(w.u.key(Row{Shape: ShapeTenantSpaces, Number: number, Of: s.scope}))
	w.u.deleteAll(s.scope[:])
	tx.meta, tx.changed = tx.before, true // there is nothing to be written of it
	return nil
}
