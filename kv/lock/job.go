package lock

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

// Locks look after themselves: what waits for a lock has it in the millisecond in which its
// holder's time is over, and the sweep comes by itself. Workers of queues of jobs do the same
// when somebody asks for it.

// Settle takes those out of a lock whose time is over, and gives it to who waits; "" is every
// lock of the tenant that somebody waits for. The name may be a literal key.
func (s *Store) Settle(ctx context.Context, owner, name string) error {
	names := []string{strings.TrimPrefix(kv.Untagged(name), keyPrefix)}
	if name == "" {
		names = s.awaited(owner)
	} else if _, _, err := ParseName(names[0]); err != nil {
		return err
	}
	return s.each(ctx, owner, names, func(u *turn, some []string) error { return u.look(some, nil) })
}

// Sweep looks at the agents of a tenant that wait, but those that a sweep has looked at within
// 30 s, whether they wait for themselves, and refuses what they wait for, unless the
// configuration says that deadlocks are ignored.
func (s *Store) Sweep(ctx context.Context, owner string) error {
	t := s.known(owner)
	if t == nil {
		return nil
	}
	return s.each(ctx, owner, s.unchecked(t), func(u *turn, some []string) error { return u.sweep(some) })
}

// awaited are the locks of a tenant that somebody waits for, in order.
func (s *Store) awaited(owner string) []string {
	t := s.known(owner)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.queues))
}

// each does something with names, so many in a batch that other writes wait for few.
func (s *Store) each(ctx context.Context, owner string, names []string, do func(*turn, []string) error) error {
	for some := range slices.Chunk(names, sweepAgents) {
		if _, err := s.do(ctx, owner, engine.WAL, nil, func(u *turn) error { return do(u, some) }); err != nil {
			return err
		}
	}
	return nil
}
