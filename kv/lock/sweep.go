package lock

import (
	"context"
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
	s.mu.Lock()
	t := s.tenants[tenant]
	s.mu.Unlock()
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

// sweep looks at the agents that wait whether they wait for themselves.
func (s *Store) sweep(t *tenant) {
	now := millis(s.kv.Now())
	var agents []string
	t.mu.Lock()
	for agent, at := range t.checked {
		if t.waits[agent] == nil && now >= at+millisOf(sweepEvery) {
			delete(t.checked, agent)
		}
	}
	for agent := range t.waits {
		if at := t.checked[agent]; at == 0 || now >= at+millisOf(sweepEvery) {
			agents = append(agents, agent)
			t.checked[agent] = now
		}
	}
	if len(t.waits) > 0 || len(t.checked) > 0 {
		s.alarms.sooner(&t.sweep, now+millisOf(sweepEvery))
	}
	t.mu.Unlock()
	for len(agents) > 0 {
		some := agents[:min(len(agents), sweepAgents)]
		agents = agents[len(some):]
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
