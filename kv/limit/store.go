package limit

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Options say how the limits run. The zero Options are the defaults.
type Options struct {
	Quota kv.Quota // of the limits of a new tenant; the zero Quota: 1,000,000 of them
}

// spaceName is the space of a tenant's limits.
const spaceName = "limit"

// Type is the type of the spaces of limits. Their log has no values: nobody watches them.
func Type() kv.Type { return kv.Type{System: kv.SystemLimit, Space: spaceName, Inline: 1} }

// Store is the limits of a kv.Store, and needs no closing. Any number of goroutines may use
// it at once. Its methods refuse with an [*Error]; other errors are those of the store, the
// engine or the context.
type Store struct {
	kv *kv.Store
	o  Options
}

// New returns the limits of a store, to which it declares their type.
func New(store *kv.Store, o Options) (*Store, error) {
	if err := store.Declare(Type()); err != nil {
		return nil, err
	}
	if o.Quota == (kv.Quota{}) {
		o.Quota.Keys = 1_000_000
	}
	return &Store{store, o}, nil
}

// Verdict is what a check comes to.
type Verdict struct {
	Allowed   bool
	Count     int // within the window, this one included if it is allowed; at most the rule's maximum
	Remaining int // that are allowed still
	// RetryAfter is in how long one will be allowed, if nobody else comes first; 0: this one is.
	RetryAfter time.Duration
}

func (r rule) verdict(allowed bool, count, free, now uint64) Verdict {
	v := Verdict{Allowed: allowed, Count: int(count), Remaining: int(uint64(r.max) - count)}
	if !allowed {
		v.RetryAfter = time.Duration(free-now) * time.Millisecond
	}
	return v
}

// errFull ends a batch that has nothing to write.
var errFull = errors.New("limit: it is reached")

// Check counts one more of a name, unless by the rule as many have been within the window: then
// it is not allowed, and doesn't count. Callers of one name that go by several rules are each told
// by their own, as long as the widest was asked within its window.
func (s *Store) Check(ctx context.Context, tenant string, n Name, by Rule, d engine.Durability) (Verdict, error) {
	r, err := by.counted()
	if err == nil {
		err = n.check()
	}
	if err == nil && !d.Valid() {
		err = invalid("durability", "there is no such durability")
	}
	if err != nil {
		return Verdict{}, err
	}
	if tenant == "" {
		return Verdict{}, invalid("tenant", "a tenant is required")
	}
	key := n.key()
	for {
		space, err := s.kv.CreateSpace(ctx, tenant, kv.SystemLimit, spaceName, s.o.Quota)
		if err != nil {
			return Verdict{}, told(err)
		}
		// Who is refused is so without waiting for other writes.
		if v, err := s.look(space, key, r); err != nil || !v.Allowed {
			return v, told(err)
		}
		var v Verdict
		err = space.Update(ctx, d, func(tx *kv.Tx) (err error) {
			v, err = count(tx, key, r)
			return err
		})
		if errors.Is(err, kv.ErrSpaceNotFound) { // it was dropped in between: it is made anew
			s.kv.Forget(tenant, kv.SystemLimit, spaceName)
			continue
		}
		if errors.Is(err, errFull) {
			err = nil
		}
		return v, told(err)
	}
}

// look is what a check would come to at least now.
func (s *Store) look(space *kv.Space, key []byte, r rule) (Verdict, error) {
	found, err := space.Get(key)
	if errors.Is(err, kv.ErrNotFound) {
		return Verdict{Allowed: true}, nil
	}
	if err != nil {
		return Verdict{}, err
	}
	h, err := parse(found.Value)
	now := millis(s.kv.Now())
	count, free := h.within(r, now)
	return r.verdict(free == 0, count, free, now), err
}

// count counts one more, or returns errFull.
func count(tx *kv.Tx, key []byte, r rule) (Verdict, error) {
	now := millis(tx.Now())
	found, err := tx.Get(key)
	var h history
	if err == nil {
		h, err = parse(found.Value)
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return Verdict{}, err
	}
	if count, free := h.within(r, now); free != 0 {
		return r.verdict(false, count, free, now), errFull
	}
	h.add(r, now)
	_, err = tx.Put(key, h.append(nil), kv.PutOptions{Expires: time.UnixMilli(int64(h.expires()))})
	count, _ := h.within(r, now)
	return r.verdict(true, count, 0, now), err
}

func millis(t time.Time) uint64 { return uint64(t.UnixMilli()) }

// Limit is what is known of a limit.
type Limit struct {
	Name
	Rule   Rule // the widest that it was asked with
	Count  int  // within its window
	Oldest time.Time
	Newest time.Time
}

// limitOf is what a record says of a limit; false if nothing of it counts any more.
func limitOf(r *kv.Record, now uint64) (l Limit, ok bool, err error) {
	h, err := parse(r.Value)
	if err != nil {
		return l, false, err
	}
	l.Name, _ = nameOf(r.Key)
	l.Rule = Rule{int(h.max), time.Duration(h.window) * time.Millisecond}
	count, _ := h.within(h.rule, now)
	for _, m := range h.moments {
		if leaves(m.at, h.window) > now {
			l.Oldest = timeOf(m.at)
			break
		}
	}
	l.Count, l.Newest = int(count), timeOf(h.moments[len(h.moments)-1].at)
	return l, count > 0, nil
}

func timeOf(ms uint64) time.Time { return time.UnixMilli(int64(ms)).UTC() }

// space returns that of a tenant's limits; nil: it has none.
func (s *Store) space(tenant string) (*kv.Space, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	space, err := s.kv.Space(tenant, kv.SystemLimit, spaceName)
	if errors.Is(err, kv.ErrSpaceNotFound) {
		return nil, nil
	}
	return space, told(err)
}

// Show returns what is known of a limit, and counts nothing. It returns ErrNotFound where
// nothing has been within its window.
func (s *Store) Show(tenant string, n Name) (Limit, error) {
	if err := n.check(); err != nil {
		return Limit{}, err
	}
	space, err := s.space(tenant)
	if err != nil {
		return Limit{}, err
	}
	if space == nil {
		return Limit{}, nothing()
	}
	r, err := space.Get(n.key())
	if errors.Is(err, kv.ErrNotFound) {
		return Limit{}, nothing()
	}
	if err != nil {
		return Limit{}, told(err)
	}
	l, ok, err := limitOf(&r, millis(s.kv.Now()))
	if err == nil && !ok {
		err = nothing()
	}
	return l, err
}

// Lookup returns what a literal key stands for: how many have been within the window, as
// JSON. A key that can be read in several ways is that of the limit whose user has the fewest
// colons. It returns ErrNotFound where there is none, and ErrInvalidArgument for a key of another
// form.
func (s *Store) Lookup(tenant, key string) (json.RawMessage, error) {
	var found json.RawMessage
	err := error(nothing())
	if len(key) > len(keyPrefix)+2*(MaxEndpoint+1+MaxUser) { // braces count too
		return nil, invalid("key", "the key is too long")
	}
	asked := false
	ok := readings(key, func(n Name) bool {
		asked = true
		var l Limit
		if l, err = s.Show(tenant, n); err == nil {
			found = strconv.AppendInt(nil, int64(l.Count), 10)
		}
		return errors.Is(err, ErrNotFound)
	})
	if !ok || !asked {
		return nil, invalid("key", "no literal key of limits looks like this; they are %sENDPOINT:USER", keyPrefix)
	}
	return found, err
}

// ListOptions say which limits a page has. The zero ListOptions are the first of all.
type ListOptions struct {
	Endpoint string // "": all
	Cursor   string // of the page before, of the same endpoint; "": the first page
	Limit    int    // at most MaxPage; 0: 100
}

// List returns a page of the limits of a tenant, in order of endpoint and user, and the
// cursor of the next; "": it is the last. A page may have fewer than were asked for, and be followed by others.
func (s *Store) List(ctx context.Context, tenant string, o ListOptions) (list []Limit, next string, err error) {
	var prefix []byte
	if o.Endpoint != "" {
		if err := checkText("endpoint", o.Endpoint, MaxEndpoint); err != nil {
			return nil, "", err
		}
		prefix = append([]byte(o.Endpoint), separator)
	}
	space, err := s.space(tenant)
	if space == nil || err != nil {
		return nil, "", err
	}
	page, err := space.List(ctx, kv.ListOptions{Prefix: prefix, Cursor: o.Cursor, Limit: o.Limit})
	if err != nil {
		return nil, "", told(err)
	}
	now := millis(s.kv.Now())
	for i := range page.Records {
		l, ok, err := limitOf(&page.Records[i], now)
		if err != nil {
			return nil, "", err
		}
		if ok {
			list = append(list, l)
		}
	}
	return list, page.Next, nil
}

// Reset forgets what counts of a limit, and says whether anything did.
func (s *Store) Reset(ctx context.Context, tenant string, n Name, d engine.Durability) (was bool, err error) {
	if err := n.check(); err != nil {
		return false, err
	}
	space, err := s.space(tenant)
	if space == nil || err != nil { // nothing is made for a tenant that has nothing
		return false, err
	}
	err = space.Update(ctx, d, func(tx *kv.Tx) error {
		r, err := tx.Delete(n.key())
		if err == nil {
			_, was, err = limitOf(&r, millis(tx.Now()))
		}
		return err
	})
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrSpaceNotFound) {
		return false, nil
	}
	return was && err == nil, told(err)
}
