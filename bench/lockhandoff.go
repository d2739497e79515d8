//go:build cgo

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoadb/stoa/rpc"
)

// gets is one caller that reads values.
func (r *kvRun) gets(c *rpc.Client) *crew {
	return r.crew("kv", 1, func(random *rand.Rand) func() error {
		k := c.KV(kvTenant)
		return func() error {
			i, err := k.Get(context.Background(), r.keys[r.data.any(random)])
			return expect(len(i.Value) == ValueBytes, err)
		}
	})
}

// puts is one caller that puts values, not synced: a release is a change as well.
func (r *kvRun) puts(c *rpc.Client) *crew {
	return r.crew("put", 1, func(random *rand.Rand) func() error { return r.put(c, random) })
}

// lockHandoffs compares how soon who waits has a lock, once its holder begins to release
// it, with gets and puts.
func (r *kvRun) lockHandoffs(result Result) (Result, error) {
	var agents [2]*lockAgent
	for i := range agents {
		c, err := stoaLocks(r.daemon).Client()
		if err != nil {
			return result, err
		}
		defer c.Release()
		agents[i] = c.(*lockAgent)
		agents[i].name = fmt.Sprintf("hand-%d", i)
	}
	err := r.daemon.with(func(c *rpc.Client) (err error) {
		handoffs := &crew{name: "handoff", elsewhere: r.daemon.process.cpu, release: func() {}, whole: func(d time.Duration) share { return handOver(agents, d) }}
		if result, err = takeTurns(r.options, result, []*crew{r.gets(c), r.puts(c), handoffs}); err != nil {
			return err
		}
		get, put, handoff := result.measure("kv").P50, result.measure("put").P50, result.measure("handoff").P50
		result.figure("p50 of handoff / of kv", handoff/get, "", "at most 2")
		result.figure("p50 of handoff / of put", handoff/put, "", "")
		result.figure("p50 of put / of kv", put/get, "", "")
		return nil
	})
	return result, err
}

// handOver has two agents hand a lock to each other for d, and notes how long each took: from
// when its holder begins to release it until the other has it.
func handOver(agents [2]*lockAgent, d time.Duration) (s share) {
	const name = "handed"
	if s.err = agents[0].Lock(name, true); s.err != nil {
		return s
	}
	holder, other := agents[0], agents[1]
	type granted struct {
		at  time.Time
		err error
	}
	for end := time.Now().Add(d); s.err == nil && time.Now().Before(end); holder, other = other, holder {
		queued, got := make(chan struct{}, 1), make(chan granted, 1)
		go func() {
			r := other.request(name, true)
			r.Moved = func(int) { queued <- struct{}{} } // once: it is the first, and stays it
			g, err := other.locks.Acquire(context.Background(), r)
			other.has = g
			got <- granted{time.Now(), err}
		}()
		var g granted
		select {
		case <-queued:
		case g = <-got:
			s.err = fmt.Errorf("who is to wait did not: %w", g.err)
			return s
		}
		begun := time.Now()
		if s.err = holder.Unlock(); s.err != nil {
			return s
		}
		g = <-got
		s.err = g.err
		s.units++
		s.latencies = append(s.latencies, g.at.Sub(begun))
	}
	if s.err == nil {
		s.err = holder.Unlock()
	}
	return s
}
