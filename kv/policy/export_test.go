package policy

import "context"

// ErrOvertaken is what UseAround returns where what was decided by does not hold any more.
var ErrOvertaken = errOvertaken

// UseAround answers a question, has something change, and only then writes what the
// answer leaves behind.
func (s *Store) UseAround(ctx context.Context, tenant string, q Question, o UseOptions, change func()) (Used, error) {
	u := use{q: &q, o: &o}
	if err := s.asked(ctx, tenant, u.q, u.decide); err != nil {
		return Used{}, err
	}
	change()
	return u.used, s.records.Do(ctx, tenant, o.Durability, u.write)
}

// Held returns how many records are held for decisions, of how many tenants.
func (s *Store) Held() (records, tenants int) {
	s.worlds.mu.Lock()
	defer s.worlds.mu.Unlock()
	return s.worlds.held, len(s.worlds.byTenant)
}
