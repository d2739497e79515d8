package policytest

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// granted is a delegation as its clients see it, and the counter of the day.
type granted struct {
	uses, most, events       int
	active                   bool
	disabled, denied, closed bool // by the agent's status, a policy, the settings
}

// asks is what a client asks: use, ask, most (to set max_uses to n), active, disabled,
// denied and closed (to set those to whether n is even), append or count.
type asks struct {
	op string
	n  int
}

// step is what comes of it: whether it is allowed, or a number.
func (g granted) step(in asks) (granted, int) {
	may := 0
	if g.active && g.uses < g.most && !g.disabled && !g.denied && !g.closed {
		may = 1
	}
	switch in.op {
	case "use":
		g.uses += may
		return g, may
	case "ask":
		return g, may
	case "most":
		g.most = in.n
	case "active":
		g.active = in.n%2 == 0
	case "disabled":
		g.disabled = in.n%2 == 0
	case "denied":
		g.denied = in.n%2 == 0
	case "closed":
		g.closed = in.n%2 == 0
	case "append":
		g.events++
		return g, g.events
	case "count":
		return g, g.events
	}
	return g, 0
}

var delegations = porcupine.Model{
	Init: func() any { return granted{most: 3, active: true} },
	Step: func(state, input, output any) (bool, any) {
		next, want := state.(granted).step(input.(asks))
		return want == output.(int), next
	},
}

// asked makes an operation of a client.
func (h *Host) asked(in asks, delegation, intent string) (int, error) {
	q := policy.Question{Agent: "agent:a", Action: "x"}
	truth := map[bool]int{true: 1}
	switch in.op {
	case "use":
		used, err := h.Use(ctx, "t", q, policy.UseOptions{Durability: engine.WAL})
		return truth[used.Allowed], err
	case "ask":
		d, err := h.Decide(ctx, "t", q)
		return truth[d.Allowed], err
	case "most":
		_, err := h.TryUpdate(policy.Delegations, delegation, Object{"constraints": Object{"max_uses": in.n}})
		return 0, err
	case "active":
		_, err := h.TryUpdate(policy.Delegations, delegation, Object{"active": in.n%2 == 0})
		return 0, err
	case "disabled":
		_, err := h.TryUpdate(policy.Agents, "a", Object{"status": []string{"disabled", "active"}[in.n%2]})
		return 0, err
	case "denied":
		_, err := h.TryUpdate(policy.Policies, "pol-deny", Object{"active": in.n%2 == 0})
		return 0, err
	case "closed":
		return 0, h.SetSettings(ctx, "t", policy.Settings{DefaultDeny: in.n%2 == 0, AllowUnknownIntents: true}, record.WriteOptions{Durability: engine.WAL})
	case "append":
		d, err := h.Append(ctx, "t", SomeEvent(intent).JSON(), record.WriteOptions{Durability: engine.WAL})
		id, _ := policy.ParseEventID(d.ID)
		return int(id.Number), err
	}
	text, err := h.Records.Lookup(ctx, "t", h.counter())
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

var operations = []string{"use", "use", "use", "use", "use", "ask", "ask", "most", "active", "disabled", "denied", "closed", "append", "count"}

// Uses of a delegation that is changed meanwhile, questions, and the counter of the day
// are linearizable, all together.
func b35B65B88UsesAndTheCounterAreLinearizable(t *testing.T, h *Host) {
	for round := range enginetest.Scale(30) {
		h := h.another()
		d := h.Create(policy.Delegations, SomeDelegation("agent:a", "x").With(Object{"constraints": Object{"max_uses": 3}}))
		intent := h.Intent()
		h.Create(policy.Agents, SomeAgent("a"))
		h.Create(policy.Policies, SomePolicy("x", "true", "deny", 1).With(Object{"policy_id": "pol-deny", "active": false}))
		begun := time.Now()
		var mu sync.Mutex
		var history []porcupine.Operation
		var wg sync.WaitGroup
		for client := range 6 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(client)))
				for range 12 {
					in := asks{op: operations[r.IntN(len(operations))], n: r.IntN(12)}
					if r.IntN(2) == 0 && in.op != "most" {
						in.n |= 1 // back to where it may
					}
					if in.op == "active" {
						in.n++
					}
					called := time.Since(begun)
					out, err := h.asked(in, d.ID, intent)
					returned := time.Since(begun)
					if !assertNoError(t, err) {
						return
					}
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: client, Input: in, Call: int64(called), Output: out, Return: int64(returned)})
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(delegations, history, time.Minute))
		h.Verified()
	}
}

func assertNoError(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}
