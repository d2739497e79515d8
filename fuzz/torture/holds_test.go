package torture

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// holds has agents take locks from each other, and write key-values under them.
//
// Those that ask at once ask for one lock, and all begin together. So what they hear is
// linearizable exactly if this holds: of those that want a free lock for themselves one is
// given it, of those that share it all are, and of a lock that is held nobody is; a grant
// has a token greater than every one before; a write with a holder's token lands, and with
// an older one it is refused.
type holds struct {
	tenant string
	rand   *rand.Rand
	// byClock says that the daemon has another clock, by which locks may expire at any time.
	byClock bool

	has     map[string]hold
	last    uint64            // the greatest token that was seen
	written map[string]string // by lock: the value under its key

	unsure  string // the lock that a call under way is about; "": none is
	leaving string // the agent that it may have taken the lock from
	under   string // what it may have written
}

// hold is who holds a lock.
type hold struct {
	mode  lock.Mode
	by    map[string]uint64 // tokens, by agents; none: it is free
	stale uint64            // a token of an earlier grant; 0: there was none
}

func newHolds(r *rand.Rand, id byte) worker {
	return &holds{tenant: fmt.Sprint("holds", id), rand: r, has: map[string]hold{}, written: map[string]string{}}
}

func (w *holds) keepTime(*reckoning) { w.byClock = true }

// lockTTL is longer than a store is used.
const lockTTL = 55 * time.Minute

func (w *holds) use(c *rpc.Client) error {
	name := []string{"task:a", "task:b", "resource:db:a", "resource:db:b"}[w.rand.IntN(4)]
	h := w.has[name]
	if len(h.by) == 0 {
		return w.contend(c, name)
	}
	if w.byClock {
		return w.hurry(c, name)
	}
	if w.rand.IntN(3) == 0 {
		if err := w.intrude(c, name); err != nil {
			return err
		}
	}
	agent := w.holder(name)
	holding := lock.Holding{Name: name, Agent: agent, Token: h.by[agent]}
	switch w.rand.IntN(5) {
	case 0, 1:
		return w.write(c, name, holding.Token)
	case 2:
		g, err := c.Locks(w.tenant).Renew(context.Background(), holding, lockTTL, 0)
		if err == nil && g.Token != holding.Token {
			return wrongf("%s of %s has the token %d, and %d once it is renewed", name, agent, holding.Token, g.Token)
		}
		if errors.Is(err, lock.ErrNotHolder) {
			return wrongf("%s was not held when %s renewed it with the token %d: %v", name, agent, holding.Token, err)
		}
		return err
	case 3:
		if h.mode == lock.Exclusive {
			return w.handOver(c, holding)
		}
	}
	w.unsure, w.leaving = name, agent
	held, err := c.Locks(w.tenant).Release(context.Background(), holding, 0)
	if err == nil && !held {
		return wrongf("%s was not held when %s released it with the token %d", name, agent, holding.Token)
	}
	return w.over(err, func() { w.drop(name, agent) })
}

// over ends the call under way, unless it has failed.
func (w *holds) over(err error, then func()) error {
	if err == nil {
		then()
		w.unsure, w.leaving, w.under = "", "", ""
	}
	return err
}

// holder draws one who holds a lock.
func (w *holds) holder(name string) string {
	agents := slices.Sorted(maps.Keys(w.has[name].by))
	return agents[w.rand.IntN(len(agents))]
}

func (w *holds) drop(name, agent string) {
	h := w.has[name]
	h.stale = max(h.stale, h.by[agent])
	delete(h.by, agent)
	w.has[name] = h
}

// give takes note of a grant.
func (w *holds) give(name, agent string, mode lock.Mode, token uint64) error {
	h := w.has[name]
	if h.by == nil {
		h.by = map[string]uint64{}
	}
	if token <= h.stale || slices.Contains(slices.Collect(maps.Values(h.by)), token) {
		return wrongf("%s was granted to %s with the token %d; %v hold it, and an earlier one was %d", name, agent, token, h.by, h.stale)
	}
	h.by[agent], h.mode = token, mode
	w.has[name] = h
	return nil
}

// contend has up to four agents ask for a free lock at once.
func (w *holds) contend(c *rpc.Client, name string) error {
	mode := lock.Exclusive
	if strings.HasPrefix(name, "resource:") && w.rand.IntN(2) == 0 {
		mode = lock.Shared
	}
	type answer struct {
		rpc.LockGrant
		err error
	}
	answers, first := make([]answer, 1+w.rand.IntN(4)), w.rand.IntN(4)
	agent := func(i int) string { return fmt.Sprint("agent ", (first+i)%4) }
	w.unsure = name
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i].LockGrant, answers[i].err = c.Locks(w.tenant).Acquire(context.Background(),
				rpc.LockRequest{Name: name, Agent: agent(i), Mode: mode, TTL: lockTTL})
		})
	}
	all.Wait()
	var failed error
	var granted []rpc.LockGrant
	last := w.last
	for i, a := range answers {
		switch {
		case a.err == nil:
			granted = append(granted, a.LockGrant)
			if a.Token <= last {
				return wrongf("%s was granted to %s with the token %d, after one with %d", name, agent(i), a.Token, last)
			}
			w.last = max(w.last, a.Token)
			if err := w.give(name, agent(i), mode, a.Token); err != nil {
				return err
			}
		case !errors.Is(a.err, lock.ErrHeld):
			failed = a.err
		}
	}
	want := 1
	if mode == lock.Shared {
		want = len(answers)
	}
	if len(granted) > want && (!w.byClock || together(granted)) || len(granted) < want && failed == nil && !w.byClock {
		return wrongf("%s, which was free, was granted to %v of %d that asked for it with the mode %v", name, w.has[name].by, len(answers), mode)
	}
	return w.over(failed, func() {})
}

// together reports whether two of some grants were held at the same time, by the daemon's clock: by one
// that runs, or jumps, the first may be over when the next is asked for.
func together(all []rpc.LockGrant) bool {
	slices.SortFunc(all, func(a, b rpc.LockGrant) int { return cmp.Compare(a.Token, b.Token) })
	for i := range all[min(1, len(all)):] {
		if all[i+1].Acquired.Before(all[i].Expires) {
			return true
		}
	}
	return false
}

// intrude asks for a lock that another holds, and writes with a token that is none any more.
func (w *holds) intrude(c *rpc.Client, name string) error {
	g, err := c.Locks(w.tenant).Acquire(context.Background(), rpc.LockRequest{Name: name, Agent: "intruder", TTL: lockTTL})
	if err == nil {
		return wrongf("%s, which %v hold, was granted as %+v", name, w.has[name].by, g)
	}
	if !errors.Is(err, lock.ErrHeld) {
		return err
	}
	if w.has[name].stale == 0 {
		return nil
	}
	return w.fenced(c, name)
}

// fenced demands that the token of an earlier grant writes nothing.
func (w *holds) fenced(c *rpc.Client, name string) error {
	_, err := c.KV(w.tenant).PutJSON(context.Background(), name, json.RawMessage(`"of nobody"`), rpc.Guarded(name, w.has[name].stale))
	if err == nil {
		return wrongf("%s was written under with the token %d, and %v hold it", name, w.has[name].stale, w.has[name].by)
	}
	if errors.Is(err, lock.ErrFenced) {
		return nil
	}
	return err
}

// write puts a value that only a holder may put.
func (w *holds) write(c *rpc.Client, name string, token uint64) error {
	value := fmt.Sprintf(`"%d"`, w.rand.Uint64())
	w.unsure, w.under = name, value
	_, err := c.KV(w.tenant).PutJSON(context.Background(), name, json.RawMessage(value), rpc.Guarded(name, token))
	if errors.Is(err, lock.ErrFenced) && !w.byClock {
		return wrongf("%s: a write with the token %d was refused, and %v hold it: %s", name, token, w.has[name].by, err)
	}
	if errors.Is(err, lock.ErrFenced) {
		w.unsure, w.under = "", ""
		return nil
	}
	return w.over(err, func() { w.written[name] = value })
}

// handOver has another agent wait for a lock, which is then released.
func (w *holds) handOver(c *rpc.Client, from lock.Holding) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type answer struct {
		rpc.LockGrant
		err error
	}
	heir := "heir of " + strings.TrimPrefix(from.Agent, "heir of ")
	if heir == from.Agent {
		heir = "agent 0"
	}
	queued, ended := make(chan int, 1), make(chan answer, 1)
	w.unsure, w.leaving = from.Name, from.Agent
	go func() {
		var a answer
		a.LockGrant, a.err = c.Locks(w.tenant).Acquire(ctx, rpc.LockRequest{
			Name: from.Name, Agent: heir, TTL: lockTTL, Wait: true,
			Moved: func(place int) {
				select {
				case queued <- place:
				default: // it moves once: nobody else waits
				}
			},
		})
		ended <- a
	}()
	select {
	case a := <-ended:
		if a.err == nil {
			return wrongf("%s was granted as %+v while %s holds it", from.Name, a.LockGrant, from.Agent)
		}
		return a.err
	case <-queued:
	}
	held, err := c.Locks(w.tenant).Release(context.Background(), from, 0)
	if err == nil && !held {
		return wrongf("%s was not held when %s released it with the token %d", from.Name, from.Agent, from.Token)
	}
	if err != nil {
		cancel()
		<-ended
		return err
	}
	a := <-ended
	if a.err != nil {
		return a.err
	}
	if a.Token <= w.last {
		return wrongf("%s was handed to %s with the token %d, after one with %d", from.Name, a.Agent, a.Token, w.last)
	}
	w.last = a.Token
	w.drop(from.Name, from.Agent)
	if err := w.give(from.Name, heir, lock.Exclusive, a.Token); err != nil {
		return err
	}
	return w.over(nil, func() {})
}

// hurry writes under a lock that may have expired, and releases it.
func (w *holds) hurry(c *rpc.Client, name string) error {
	agent := w.holder(name)
	token := w.has[name].by[agent]
	if err := w.write(c, name, token); err != nil {
		return err
	}
	w.unsure, w.leaving = name, agent
	_, err := c.Locks(w.tenant).Release(context.Background(), lock.Holding{Name: name, Agent: agent, Token: token}, 0)
	if err = w.over(err, func() { w.drop(name, agent) }); err != nil {
		return err
	}
	return w.fenced(c, name)
}

func (w *holds) recount(c *rpc.Client) error {
	found := map[string]lock.Lock{}
	for l, err := range c.Locks(w.tenant).All(context.Background(), rpc.LockListOptions{}) {
		if err != nil {
			return err
		}
		found[l.Name] = l
	}
	for name, h := range w.has {
		for agent, token := range h.by {
			there := slices.ContainsFunc(found[name].Holders, func(g lock.Grant) bool { return g.Agent == agent && g.Token == token })
			switch {
			case there:
			case w.byClock, name == w.unsure && agent == w.leaving:
				w.drop(name, agent)
			default:
				return wrongf("%s holds %s with the token %d, but the lock is %+v", agent, name, token, found[name])
			}
		}
	}
	for name, l := range found {
		for _, g := range l.Holders {
			if w.has[name].by[g.Agent] == g.Token {
				continue
			}
			if name != w.unsure && !w.byClock || g.Token <= w.has[name].stale {
				return wrongf("%s is held by %+v; acknowledged was %+v", name, g, w.has[name])
			}
			if err := w.evict(c, g); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"task:a", "task:b", "resource:db:a", "resource:db:b"} {
		i, err := maybe(c.KV(w.tenant).Get(context.Background(), name))
		if err != nil {
			return err
		}
		got := ""
		if i.Found {
			got = string(i.Value)
		}
		if got != w.written[name] && (name != w.unsure || got != w.under) {
			return wrongf("under %s there is %s; acknowledged was %s, and under way %s", name, got, w.written[name], w.under)
		}
		w.written[name] = got
	}
	w.unsure, w.leaving, w.under = "", "", ""
	return nil
}

// evict releases what nobody heard that it was granted.
func (w *holds) evict(c *rpc.Client, g lock.Grant) error {
	if _, err := c.Locks(w.tenant).Release(context.Background(), lock.Holding{Name: g.Name, Agent: g.Agent, Token: g.Token}, 0); err != nil {
		return err
	}
	w.last = max(w.last, g.Token)
	h := w.has[g.Name]
	h.stale = max(h.stale, g.Token)
	w.has[g.Name] = h
	return nil
}
