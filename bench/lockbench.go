//go:build cgo

package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/stoadb/stoa/rpc"
)

// agentWorkloads measure the services by which agents that share work coordinate.
var agentWorkloads = []kvWorkload{
	{"lock-pair", "a lock of one's own acquired and released, not synced, beside other services of locks and two puts to Kv", "pair", lockPairs(1)},
	{"lock-pair-16", "the same, 16 agents, each with a connection and a lock of its own", "pair", lockPairs(16)},
	{"lock-pair-64", "the same, 64 agents that share one connection, as those of one process do, beside two puts to Kv", "pair", (*kvRun).lockShared},
	{"lock-contended", "one lock that 16 agents wait for, acquired and released, not synced, beside other services of locks", "pair", (*kvRun).lockContended},
	{"lock-handoff", "a lock that is released to another agent, which waits, until that agent has it, beside gets from Kv and puts to it", "grant", (*kvRun).lockHandoffs},
	{"limit-check", "checks of a limit that pass, not synced, beside increments of Kv", "check", (*kvRun).limitChecks},
}

// What a lock that is acquired and released is to reach.
const (
	pairsPerCore     = 20_000 // of locks of one's own
	contendedPerCore = 10_000
)

// openLocks opens the daemon and what its locks are measured beside.
func (r *kvRun) openLocks() error {
	if r.lockers != nil {
		return nil
	}
	r.lockers = []*LockPeer{stoaLocks(r.daemon)}
	if r.options.LockPeers == nil {
		return nil
	}
	more, err := r.options.LockPeers(r.options)
	r.lockers = append(r.lockers, more...)
	return err
}

// lockPairs measures locks that nobody else asks for.
func lockPairs(agents int) func(*kvRun, Result) (Result, error) {
	return func(r *kvRun, result Result) (Result, error) {
		err := r.daemon.with(func(c *rpc.Client) (err error) {
			result, err = r.locks(result, agents, false, pairsPerCore, r.twoPuts(c, agents))
			return err
		})
		return result, err
	}
}

// twoPuts are callers that put twice: a lock that is acquired and released is two changes.
func (r *kvRun) twoPuts(c *rpc.Client, callers int) *crew {
	return r.crew("two puts", callers, func(random *rand.Rand) func() error {
		put := r.put(c, random)
		return func() error {
			if err := put(); err != nil {
				return err
			}
			return put()
		}
	})
}

// lockShared measures locks that nobody else asks for, by agents that share a connection.
func (r *kvRun) lockShared(result Result) (Result, error) {
	const agents = 64
	err := r.daemon.with(func(c *rpc.Client) (err error) {
		of := 0
		locks := r.crew("lock", agents, func(*rand.Rand) func() error {
			of++
			a := &lockAgent{locks: c.Locks(lockTenant), name: fmt.Sprintf("sharing-%d", of)}
			return func() error { return pair(a, a.name, false) }
		})
		if result, err = takeTurns(r.options, result, []*crew{locks, r.twoPuts(c, agents)}); err != nil {
			return err
		}
		result.ofLocks(pairsPerCore)
		result.besideTwoPuts()
		result.figure("cpu of lock / of two puts", ratio(result.measure("lock"), result.measure("two puts"), cpuOf), "", "")
		return nil
	})
	return result, err
}

// pair takes a lock and gives it back.
func pair(c LockClient, name string, contended bool) error {
	if err := c.Lock(name, contended); err != nil {
		return err
	}
	return c.Unlock()
}

// ofLocks notes how many pairs there were, and how many one core would do.
func (r *Result) ofLocks(perCore int) {
	m := r.measure("lock")
	r.figure("pairs of lock in a second", 1e9/m.Wall.Median, "", "")
	r.figure("pairs in a second of the daemon's processor", 1e9/max(m.Served, 1), "", fmt.Sprintf("at least %d", perCore))
	r.figure("pairs in a second of processor, of daemon and clients", 1e9/max(m.CPU.Median, 1), "", "")
}

// besideTwoPuts notes how often one core would do what a pair does at least, two changes of Kv.
func (r *Result) besideTwoPuts() {
	r.figure("two puts in a second of the daemon's processor", 1e9/max(r.measure("two puts").Served, 1), "", "")
}

func (r *kvRun) lockContended(result Result) (Result, error) {
	return r.locks(result, 16, true, contendedPerCore)
}

// locks lets services of locks take turns with so many agents each, and more crews.
func (r *kvRun) locks(result Result, agents int, contended bool, perCore int, more ...*crew) (Result, error) {
	if err := r.openLocks(); err != nil {
		return result, err
	}
	crews, err := crewsOf(r.lockers, agents, func(c LockClient, of int, _ *rand.Rand) func() error {
		name := fmt.Sprintf("bench-%d", of)
		if contended {
			name = "bench-all"
		}
		return func() error { return pair(c, name, contended) }
	})
	if err != nil {
		return result, err
	}
	if result, err = takeTurns(r.options, result, append(crews, more...)); err != nil {
		return result, err
	}
	result.ofLocks(perCore)
	own := result.measure("lock")
	for _, p := range r.lockers[1:] {
		demanded := demandedOfLocks[p.Name]
		if contended {
			demanded = ""
		}
		result.rate("lock", p.Name, demanded)
		result.figure("cpu of "+p.Name+" / of lock", ratio(result.measure(p.Name), own, cpuOf), "", "")
	}
	if len(more) > 0 {
		result.besideTwoPuts()
	}
	for _, c := range more {
		result.figure("cpu of lock / of "+c.name, ratio(own, result.measure(c.name), cpuOf), "", "")
	}
	return result, nil
}

// demandedOfLocks is what the rate of the daemon is to be to that of peers, by their names.
var demandedOfLocks = map[string]string{"etcd": "at least 3", "redis": "at least 1"}
