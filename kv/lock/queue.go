package lock

import (
	"math"
	"slices"
	"sync"

	"github.com/stoadb/stoa/kv"
)

// tenant is who waits for the locks of one.
type tenant struct {
	name  string
	begin sync.Once
	users int // calls that are under way; guarded by Store.mu

	mu     sync.Mutex // is taken while a batch is made: nobody waits for a commit with it
	space  *kv.Space
	queues map[string]*queue    // of the locks that somebody waits for, or that have an alarm
	waits  map[string][]*waiter // by agent
	hearts map[string]*heart    // of the agents that are to be heard of
	agents map[string]struct{}  // that may be registered, and all that are; nil: any may be
	count  int                  // who waits
	synced int                  // those of them whose grant is to be on disk
	last   uint64               // number of the last that came
	gone   bool                 // the tenant was dropped

	checked map[string]uint64 // when the sweep has looked at an agent, ms
	sweep   alarm             // when it is to come
}

// maxAgents is how many agents are remembered that may be registered.
const maxAgents = 1 << 17

// mayBe remembers that an agent may be registered. The caller holds mu.
func (t *tenant) mayBe(agent string) {
	if t.agents == nil {
		return
	}
	if t.agents[agent] = struct{}{}; len(t.agents) > maxAgents {
		t.agents = nil
	}
}

// queue is who waits for a lock, in order.
type queue struct {
	t       *tenant
	name    string
	waiters []*waiter
	alarm   alarm // when the lock is to be settled
}

// waiter is a request on its way. What follows callers is guarded by the tenant's mu.
type waiter struct {
	Request
	t       *tenant
	since   uint64 // ms
	until   alarm  // when it has waited for long enough
	number  uint64 // of its arrival; MaxUint64: it has not come yet
	upgrade bool   // the agent shares the lock
	moved   chan struct{}

	callers int     // that wait for it: of the same agent
	tells   bool    // one of them is told whenever its place changes
	joined  *waiter // the one that it waits with, which came before
	queued  bool
	ended   bool
	grant   Grant // once it has ended: what it was given
	err     error // or why it was not
	done    chan struct{}
}

func newWaiter(r Request) *waiter {
	w := &waiter{Request: r, number: math.MaxUint64, callers: 1, tells: r.Moved != nil && !r.PlaceOnce}
	w.until.of = w
	return w
}

// last is the moment from which on w has waited for long enough, in ms since 1970.
func (w *waiter) last() uint64 { return w.since + millisOf(w.MaxWait) }

// over reports whether w waits for its alarm alone, which is about to ring: it gets
// nothing any more, whoever settles the lock before.
func (w *waiter) over(now uint64) bool { return w.queued && now >= w.last() }

// before reports whether w is served before other: who upgrades, since all others wait
// for it too; then by priority; then who came first.
func (w *waiter) before(other *waiter) bool {
	switch {
	case w.upgrade != other.upgrade:
		return w.upgrade
	case w.Priority != other.Priority:
		return w.Priority > other.Priority
	}
	return w.number < other.number
}

// end tells w what has become of it. The caller holds mu.
func (w *waiter) end(g Grant, err error) {
	w.ended, w.grant, w.err = true, g, err
	close(w.done)
}

// line is who waits for a lock, own among them at its place if it is not nil.
func (t *tenant) line(name string, own *waiter) []*waiter {
	var list []*waiter
	if q := t.queues[name]; q != nil {
		list = q.waiters
	}
	if own == nil || own.queued {
		return list
	}
	if len(list) == 0 {
		return []*waiter{own}
	}
	return slices.Insert(slices.Clone(list), t.place(list, own), own)
}

// place is where w goes in a queue.
func (t *tenant) place(list []*waiter, w *waiter) int {
	at := slices.IndexFunc(list, w.before)
	if at < 0 {
		return len(list)
	}
	return at
}

// waiting returns the request of an agent for a lock; nil: there is none.
func (t *tenant) waiting(name, agent string) *waiter {
	for _, w := range t.waits[agent] {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// attended returns the queue of a lock, which it makes.
func (t *tenant) attended(name string) *queue {
	q := t.queues[name]
	if q == nil {
		q = &queue{t: t, name: name}
		q.alarm.of = q
		t.queues[name] = q
	}
	return q
}

// enqueue puts w into the queue of its lock.
func (t *tenant) enqueue(w *waiter) {
	t.last++
	w.number, w.queued, w.t = t.last, true, t
	if w.done == nil {
		w.done, w.moved = make(chan struct{}), make(chan struct{}, 1)
	}
	q := t.attended(w.Name)
	q.waiters = slices.Insert(q.waiters, t.place(q.waiters, w), w)
	t.waits[w.Agent] = append(t.waits[w.Agent], w)
	t.count++
	if w.Durability == 0 {
		t.synced++
	}
}

// dequeue takes w out of the queue of its lock.
func (t *tenant) dequeue(w *waiter) {
	if !w.queued {
		return
	}
	w.queued, w.number = false, math.MaxUint64
	is := func(other *waiter) bool { return other == w }
	q := t.queues[w.Name]
	q.waiters = slices.DeleteFunc(q.waiters, is)
	if rest := slices.DeleteFunc(t.waits[w.Agent], is); len(rest) > 0 {
		t.waits[w.Agent] = rest
	} else {
		delete(t.waits, w.Agent)
	}
	t.count--
	if w.Durability == 0 {
		t.synced--
	}
}

// tellPlaces wakes those of a queue that want to know their place.
func (q *queue) tellPlaces() {
	for _, w := range q.waiters {
		if !w.tells {
			continue
		}
		select {
		case w.moved <- struct{}{}:
		default: // it is about to look
		}
	}
}

// placeOf is where w stands in the queue of its lock, from 1; 0: it does not any more.
func (t *tenant) placeOf(w *waiter) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.queues[w.Name]; q != nil {
		return slices.Index(q.waiters, w) + 1
	}
	return 0
}
