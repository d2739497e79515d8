package agents

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// lockName are the arguments of Get.
type lockName struct {
	op.OfTenant
	Name string
}

var lockGet = op.New(op.Method{Number: 1006, Name: "Lock.Get", Role: access.Reader, Tenant: true},
	func(_ context.Context, s *lock.Store, a *lockName) (lock.Lock, error) { return s.Get(a.Tenant, a.Name) })

// Get returns what is known of a lock: its mode is [lock.Free] where nobody holds it.
func (l *Locks) Get(ctx context.Context, name string) (lock.Lock, error) {
	return caller.Call(ctx, l.c, lockGet, lockName{op.Of(l.tenant), name})
}

// lockKey are the arguments of Lookup.
type lockKey struct {
	op.OfTenant
	Key string
}

var lockLookup = op.New(op.Method{Number: 1007, Name: "Lock.Lookup", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockKey) (json.RawMessage, error) {
		return s.Lookup(ctx, a.Tenant, a.Key)
	})

// Lookup returns what a literal key stands for; see [lock.Store.Lookup].
func (l *Locks) Lookup(ctx context.Context, key string) (json.RawMessage, error) {
	return caller.Call(ctx, l.c, lockLookup, lockKey{op.Of(l.tenant), key})
}

// lockListing are the arguments of List.
type lockListing struct {
	op.OfTenant
	lock.ListOptions
}

var lockList = op.New(op.Method{Number: 1009, Name: "Lock.List", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockListing) (lock.Page, error) {
		p, err := s.List(ctx, a.Tenant, a.ListOptions)
		nameHolders(p.Locks, func(*lock.Lock) string { return "" })
		return p, err
	}).Told(func(_ *lockListing, p *lock.Page) error {
	nameHolders(p.Locks, func(l *lock.Lock) string { return l.Name })
	return nil
})

// nameHolders has the grants of locks say what locks they are of: in messages they don't,
// since a hundred of them would repeat a long name.
func nameHolders(list []lock.Lock, name func(*lock.Lock) string) {
	for i := range list {
		for j := range list[i].Holders {
			list[i].Holders[j].Name = name(&list[i])
		}
	}
}

// List returns a page of the locks that are held; see [lock.Store.List]. Who reads all takes
// [Locks.All].
func (l *Locks) List(ctx context.Context, o lock.ListOptions) (lock.Page, error) {
	return caller.Call(ctx, l.c, lockList, lockListing{op.Of(l.tenant), o})
}

// All yields the locks that are held, page by page: from the cursor on, and Limit of them at
// most, all if that is 0. Those that come and go meanwhile may be missed.
func (l *Locks) All(ctx context.Context, o lock.ListOptions) iter.Seq2[lock.Lock, error] {
	return caller.Pagewise(lockList.Name, o.Limit, o.Cursor, func(cursor string, limit int) ([]lock.Lock, string, error) {
		o.Cursor, o.Limit = cursor, limit
		p, err := l.List(ctx, o)
		return p.Locks, p.Next, err
	})
}

var lockQueue = op.New(op.Method{Number: 1010, Name: "Lock.Queue", Role: access.Reader, Tenant: true},
	func(_ context.Context, s *lock.Store, a *lockName) ([]lock.Waiting, error) {
		if _, _, err := lock.ParseName(a.Name); err != nil {
			return nil, err
		}
		return s.Queue(a.Tenant, a.Name), nil
	})

// Queue returns who waits for a lock, in order; see [lock.Store.Queue].
func (l *Locks) Queue(ctx context.Context, name string) ([]lock.Waiting, error) {
	return caller.Call(ctx, l.c, lockQueue, lockName{op.Of(l.tenant), name})
}
