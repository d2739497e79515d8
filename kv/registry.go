package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// The registry gives names numbers, which keys then carry. A number is never
// given twice, so that nothing that was kept of a dropped tenant can be taken
// for something of its namesake.

func checkTenant(name string) error {
	if len(name) > MaxTenant {
		return &Error{Code: CodeInvalidTenant, Field: "tenant", Limit: MaxTenant, Have: uint64(len(name)), Reason: fmt.Sprintf("the name has more than %d bytes", MaxTenant)}
	}
	return nil
}

// number returns the number that a row of the registry gives; 0 if there is none.
func (u *unit) number(r Row) (uint64, error) {
	row := u.key(r)
	value, err := u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return parseU64(row, value)
}

// next returns the next number of a kind.
func (u *unit) next(kind byte, most uint64) (uint64, error) {
	last, err := u.number(Row{Shape: ShapeStore, Kind: kind})
	if err != nil {
		return 0, err
	}
	if last >= most {
		return 0, invalid("name", "there are no numbers left for new names")
	}
	u.put(u.key(Row{Shape: ShapeStore, Kind: kind}), u64Bytes(last+1))
	return last + 1, nil
}

// spaceNumber returns the number of a system's space; 0 if it has none yet.
func spaceNumber(g engine.Getter, system System, name string) (uint32, error) {
	by := Row{Shape: ShapeSpace, Kind: byte(system), Key: []byte(name)}.AppendKey(nil)
	value, err := g.Get(nil, column.Generic, by)
	if errors.Is(err, engine.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("kv: the number of a space: %w", err)
	}
	n, err := parseU64(by, value)
	return uint32(n), err
}

// number returns the number of the type's space; 0 if it has none, or several.
func (t *Type) number(g engine.Getter) (uint32, error) {
	if t.Others {
		return 0, nil
	}
	return spaceNumber(g, t.System, t.Space)
}

// numberSpace returns the number of a system's space, and gives it one.
func (s *Store) numberSpace(ctx context.Context, system System, name string) (n uint32, err error) {
	err = s.update(ctx, engine.Synced, func(u *unit) (err error) {
		n, err = u.numberSpace(system, name)
		return err
	})
	return n, err
}

func (u *unit) numberSpace(system System, name string) (uint32, error) {
	row := Row{Shape: ShapeSpace, Kind: byte(system), Key: []byte(name)}
	n, err := u.number(row)
	if err != nil || n != 0 {
		return uint32(n), err
	}
	if n, err = u.next(KindSpaces, math.MaxUint32); err != nil {
		return 0, err
	}
	u.put(u.key(row), u64Bytes(n))
	u.put(u.key(Row{Shape: ShapeSpaceName, Kind: byte(system), Number: n}), []byte(name))
	return uint32(n), nil
}

// tenantRow is what the registry says under a tenant's name: its number, and how
// many spaces it has been given, both u64.
type tenantRow struct{ number, spaces uint64 }

func (t tenantRow) bytes() []byte {
	return binary.LittleEndian.AppendUint64(u64Bytes(t.number), t.spaces)
}

func parseTenant(row, src []byte) (t tenantRow, err error) {
	if len(src) != 16 {
		return t, damaged(row, "not a tenant's number and count of spaces")
	}
	return tenantRow{binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])}, nil
}

// lookTenant returns a tenant's row, or ErrSpaceNotFound.
func lookTenant(get func(key []byte) ([]byte, error), name string) (tenantRow, error) {
	row := Row{Shape: ShapeTenant, Key: []byte(name)}.AppendKey(nil)
	value, err := get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return tenantRow{}, &Error{Code: CodeSpaceNotFound, Field: "tenant", Reason: "there is no such tenant"}
	}
	if err != nil {
		return tenantRow{}, err
	}
	return parseTenant(row, value)
}

// addSpace makes the space of a type for a tenant, and the tenant, unless they
// are there.
func (u *unit) addSpace(name string, system System, space uint32, quota Quota, rules Rules) (scope keys.Scope, created bool, err error) {
	t, err := lookTenant(u.get, name)
	if errors.Is(err, ErrSpaceNotFound) {
		t.number, err = u.next(KindTenants, maxTenants)
		u.put(u.key(Row{Shape: ShapeTenantName, Number: t.number}), []byte(name))
	}
	if err != nil {
		return scope, false, err
	}
	scope = keys.NewKVScope(uint8(system), space, t.number)
	meta := u.key(Row{Scope: scope, Shape: ShapeMeta})
	if _, err := u.get(meta); !errors.Is(err, engine.ErrNotFound) {
		return scope, false, err
	}
	t.spaces++
	u.put(meta, appendMeta(nil, &Stats{Quota: quota, Rules: rules}))
	u.put(u.key(Row{Shape: ShapeTenantSpaces, Number: t.number, Of: scope}), nil)
	u.put(u.key(Row{Shape: ShapeTenant, Key: []byte(name)}), t.bytes())
	return scope, true, nil
}

// Tenant is a tenant and its spaces.
type Tenant struct {
	Name   string
	Number uint64
}

// Tenants yields the tenants whose names come after a name, in order of their
// names; "" is before all but the tenant without a name, which begin includes.
func (s *Store) Tenants(ctx context.Context, after string, begin bool) iter.Seq2[Tenant, error] {
	return func(yield func(Tenant, error) bool) {
		prefix := Row{Shape: ShapeTenant}.AppendKey(nil)
		r := engine.Prefixed(prefix)
		r.Start = append(prefix[:len(prefix):len(prefix)], after...)
		if !begin {
			r.Start = append(r.Start, 0)
		}
		for row, err := range scanRows(ctx, s.db, r) {
			var t Tenant
			if err == nil {
				t.Name = string(row.Key)
				var found tenantRow
				found, err = parseTenant(row.AppendKey(nil), row.value)
				t.Number = found.number
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// tenantSpaces returns the scopes of a tenant's spaces.
func tenantSpaces(ctx context.Context, r engine.Reader, tenant uint64) ([]keys.Scope, error) {
	var scopes []keys.Scope
	prefix := appendU64(append(make([]byte, len(keys.Scope{})), byte(ShapeTenantSpaces)), tenant)
	for row, err := range scanRows(ctx, r, engine.Prefixed(prefix)) {
		if err != nil {
			return nil, err
		}
		scopes = append(scopes, row.Of)
	}
	return scopes, nil
}

// Dropped is how much went with a tenant.
type Dropped struct {
	Keys  uint64 // records, those that had just expired included
	Bytes uint64 // of their keys and values
}

// DropTenant removes a tenant and everything in its spaces, in one batch. It
// returns ErrSpaceNotFound if there is no such tenant. Its name may be used again, by
// a tenant that has nothing of it.
func (s *Store) DropTenant(ctx context.Context, name string) (d Dropped, err error) {
	if err := checkTenant(name); err != nil {
		return d, err
	}
	before, err := s.db.Snapshot()
	if err != nil {
		return d, err
	}
	defer func() { _ = before.Close() }()
	tenant, err := lookTenant(s.get, name)
	if err != nil {
		return d, err
	}
	var scopes []keys.Scope
	for try := 1; ; try++ {
		if scopes, err = tenantSpaces(ctx, s.db, tenant.number); err != nil {
			return d, err
		}
		err = s.update(ctx, engine.Synced, func(u *unit) (err error) {
			d, err = u.dropTenant(name, tenant.number, scopes)
			return err
		})
		if !errors.Is(err, ErrBusy) || try == maxTries {
			break
		}
	}
	if err != nil {
		return Dropped{}, err
	}
	s.mu.Lock()
	s.drops++
	clear(s.spaces)
	s.mu.Unlock()
	for _, scope := range scopes {
		s.notifier.notify(scope)
		if err := s.disarm(ctx, before, scope); err != nil {
			s.log.Warn("kv: what a dropped tenant had due stays in the line until it is due", "err", err)
		}
	}
	return d, nil
}

// maxTries is how often a change is prepared again that others have overtaken.
const maxTries = 100

func (s *Store) get(key []byte) ([]byte, error) { return s.db.Get(nil, column.Generic, key) }

// dropTenant removes a tenant whose spaces are scopes, or returns ErrBusy if it
// has others by now.
func (u *unit) dropTenant(name string, number uint64, scopes []keys.Scope) (d Dropped, err error) {
	t, err := lookTenant(u.get, name)
	if err != nil {
		return d, err
	}
	if t.number != number {
		return d, &Error{Code: CodeSpaceNotFound, Field: "tenant", Reason: "the tenant has been dropped"}
	}
	if t.spaces != uint64(len(scopes)) {
		return d, &Error{Code: CodeBusy, Field: "tenant", Reason: "the tenant got another space meanwhile: try again"}
	}
	u.delete(u.key(Row{Shape: ShapeTenantName, Number: number}))
	u.delete(u.key(Row{Shape: ShapeTenant, Key: []byte(name)}))
	for _, scope := range scopes {
		row := u.key(Row{Scope: scope, Shape: ShapeMeta})
		value, err := u.get(row)
		if err != nil {
			return d, err
		}
		if had, err := parseMeta(row, value); err == nil { // what is damaged is dropped too
			d.Keys += had.Keys
			d.Bytes += had.Bytes
		}
		u.delete(u.key(Row{Shape: ShapeTenantSpaces, Number: number, Of: scope}))
		u.batch.DeleteRange(column.Generic, scope[:], engine.Successor(scope[:]))
	}
	return d, nil
}

// disarm removes what a dropped space has due from the line. What it leaves, if
// the process ends, goes when it is due.
func (s *Store) disarm(ctx context.Context, before engine.Reader, scope keys.Scope) error {
	for _, shape := range []Shape{ShapeRecord, ShapeJob, ShapeHead} {
		prefix := append(scope[:len(scope):len(scope)], byte(shape))
		var dead []Row
		flush := func() error {
			err := s.update(ctx, engine.WAL, func(u *unit) error {
				for _, r := range dead {
					u.delete(u.key(r))
				}
				return nil
			})
			dead = dead[:0]
			return err
		}
		for row, err := range scanRows(ctx, before, engine.Prefixed(prefix)) {
			if err != nil {
				return err
			}
			due, err := dueOf(row)
			if err != nil {
				return err
			}
			if due.Due != 0 {
				dead = append(dead, due)
			}
			if len(dead) == sweepRows {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// dueOf returns the row in the line of what is due that a row of a space stands
// for; its Due is 0 if there is none.
func dueOf(row storedRow) (Row, error) {
	due := Row{Shape: ShapeDue, Of: row.Scope, Kind: byte(row.Shape), Key: row.Key}
	key := row.AppendKey(nil)
	switch row.Shape {
	case ShapeRecord:
		r, err := parseRecord(key, row.Key, row.value)
		due.Due = r.expires
		return due, err
	case ShapeJob:
		j, err := parseJob(key, row.value)
		due.Due = j.due
		return due, err
	case ShapeHead:
		if row.Kind != KindStream {
			return due, nil
		}
		due.Kind = byte(ShapeEntry)
		h, err := parseStreamHead(key, row.value)
		due.Due = h.due
		return due, err
	}
	return due, nil
}
