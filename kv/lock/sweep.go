package lock

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stoadb/stoa/engine"
)

// Whether who waits waits for itself is found when its request comes, and when a lock is
// given to who waits for another. The sweep is a second line: it finds what stood already
// when the configuration began to say that deadlocks are refused.
const (
	sweepEvery  = 30 * time.Second // for each agent
	sweepAgents = 64               // of one batch, so that other writes wait for few
)

// checkedAt is when the sweep has looked at an agent, if that was lately; else zero.
func (s *Store) checkedAt(tenant, agent string) time.Time {
	t := s.known(tenant)
	if t == nil {
		return time.Time{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.checked[agent]
	if at == 0 || millis(s.kv.Now()) >= at+millisOf(sweepEvery) {
		return time.Time{}
	}
	return moment(at)
}

// unchecked are the agents of a tenant that wait and that no sweep has looked at lately, in
// order, which one does now.
func (s *Store) unchecked(t *tenant) (agents []string) {
	now := millis(s.kv.Now())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetChecks(now)
	for agent := range t.waits {
		if t.checked[agent] == 0 {
			agents = append(agents, agent)
			t.checked[agent] = now
		}
	}
	slices.Sort(agents)
	return agents
}

// forgetChecks forgets when agents were looked at that may be again. The caller holds mu.
func (t *tenant) forgetChecks(now uint64) {
	maps.DeleteFunc(t.checked, func(_ string, at uint64) bool { return now >= at+millisOf(sweepEvery) })
}

// sweep looks at the agents that wait whether they wait for themselves, and comes again.
func (s *Store) sweep(t *tenant) {
	agents := s.unchecked(t)
	t.mu.Lock()
	if len(t.waits) > 0 || len(t.checked) > 0 {
		s.alarms.sooner(&t.sweep, millis(s.kv.Now())+millisOf(sweepEvery))
	}
	t.mu.Unlock()
	for some := range slices.Chunk(agents, sweepAgents) {
		s.inBackground(t, func() error {
			_, err := s.take(context.Background(), t, engine.WAL, nil, func(u *turn) error { return u.sweep(some) })
			return err
		})
	}
}

// sweep refuses what agents wait for that wait for themselves.
func (u *turn) sweep(agents []string) error {
	if u.config.IgnoreDeadlocks {
		return nil
	}
	for _, agent := range agents {
		if err := u.breakCycles(agent); err != nil {
			return err
		}
	}
	return nil
}
