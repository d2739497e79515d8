package lock

// ForgetWait has nobody notice that a request has waited for long enough.
func (s *Store) ForgetWait(owner, name, agent string) {
	t := s.known(owner)
	t.mu.Lock()
	defer t.mu.Unlock()
	s.alarms.stop(&t.waiting(name, agent).until)
}

// Places returns what wakes the first call of an agent that waits, to be told its place.
func (s *Store) Places(owner, agent string) <-chan struct{} {
	t := s.known(owner)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waits[agent][0].moved
}

// Sweeps reports whether a sweep of a tenant is to come.
func (s *Store) Sweeps(owner string) bool { return s.alarms.isSet(&s.known(owner).sweep) }
