package lock

import (
	"errors"
	"slices"
	"strings"

	"github.com/stoadb/stoa/kv"
)

// cycle returns who waits for whom, from an agent round to itself, if it would by waiting
// for a lock; nil: it would not. An agent waits for all other holders of a lock that it
// is in the queue of.
func (u *turn) cycle(agent string, l *looked) ([]string, error) {
	type step struct {
		agent string
		from  int // the step that led to it
	}
	var steps []step
	seen := map[string]bool{}
	reach := func(holders []holder, but string, from int) bool {
		for i := range holders {
			if h := holders[i].agent; h != but && !seen[h] && holders[i].expires > u.now {
				seen[h] = true
				steps = append(steps, step{h, from})
				if h == agent {
					return true
				}
			}
		}
		return false
	}
	found := reach(l.holders, agent, -1)
	looks := 0
	for at := 0; at < len(steps) && !found; at++ {
		for _, w := range u.t.waits[steps[at].agent] {
			if looks++; looks > MaxChain {
				return nil, tooMany("name", MaxChain, "so many wait for each other that it can't be said whether this would wait for itself: try later")
			}
			holders, err := u.holdersOf(w)
			if err != nil {
				return nil, err
			}
			if found = reach(holders, w.Agent, at); found {
				break
			}
		}
	}
	if !found {
		return nil, nil
	}
	var cycle []string
	for at := steps[len(steps)-1].from; at >= 0; at = steps[at].from {
		cycle = append(cycle, steps[at].agent)
	}
	cycle = append(cycle, agent)
	slices.Reverse(cycle)
	return cycle, nil
}

// holdersOf are those of the lock that w waits for; none if it does not, any more.
func (u *turn) holdersOf(w *waiter) ([]holder, error) {
	if u.decided(w) {
		return nil, nil
	}
	for _, l := range u.locks {
		if l.name == w.Name {
			if l.satisfies(w) {
				return nil, nil
			}
			return l.holders, nil
		}
	}
	r, err := u.tx.Get([]byte(w.Name))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := looked{name: w.Name}
	if l.state, err = parseState(w.Name, r.Value); err != nil || l.satisfies(w) {
		return nil, err
	}
	return l.holders, nil
}

// breakCycles refuses what an agent waits for by which it waits for itself.
func (u *turn) breakCycles(agent string) error {
	for _, other := range u.t.waits[agent] {
		holders, err := u.holdersOf(other)
		if err != nil {
			return err
		}
		cycle, err := u.cycle(agent, &looked{name: other.Name, state: state{holders: holders}})
		if errors.Is(err, ErrTooMany) {
			continue
		}
		if err != nil {
			return err
		}
		if cycle != nil {
			u.refused = append(u.refused, refused{other, deadlock(other.Name, cycle)})
			u.settleLater(other.Name)
		}
	}
	return nil
}

func deadlock(name string, cycle []string) error {
	e := refuse(CodeDeadlock, "", "each of %s waits for the next, and the last for the first: release what you hold, or wait for no more", strings.Join(cycle, ", "))
	e.Lock, e.Cycle = name, cycle
	return e
}
