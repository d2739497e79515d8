package lock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// graph is who holds what and who waits for what, as a test without any cleverness sees
// it: an agent waits for all other holders of a lock that it waits for.
type graph struct {
	holds map[string][]string // by lock
	waits map[string][]string // by agent
}

// cycles returns, by gonum, the sets of agents in which each waits for each, over others.
func (g *graph) cycles(agents []string) (sets [][]string) {
	waits := simple.NewDirectedGraph()
	for from, agent := range agents {
		for _, lock := range g.waits[agent] {
			for _, holder := range g.holds[lock] {
				if to := slices.Index(agents, holder); to != from {
					waits.SetEdge(waits.NewEdge(simple.Node(from), simple.Node(to)))
				}
			}
		}
	}
	for _, component := range topo.TarjanSCC(waits) {
		if len(component) == 1 {
			continue
		}
		var set []string
		for _, node := range component {
			set = append(set, agents[node.ID()])
		}
		sets = append(sets, set)
	}
	return sets
}

// inCycle says whether an agent waits for itself.
func (g *graph) inCycle(agents []string, agent string) bool {
	return slices.ContainsFunc(g.cycles(agents), func(set []string) bool { return slices.Contains(set, agent) })
}

// Requests of up to 30 agents, shared ones too: one is refused exactly where it would
// close a cycle of the graph.
func TestA38A39VerdictsAreThoseOfTheGraph(t *testing.T) {
	enginetest.Check(t, 10_000, func(rt *rapid.T) {
		h := locktest.Open(t, locktest.Setup{})
		defer h.End()
		n := rapid.IntRange(2, 30).Draw(rt, "agents")
		agents := make([]string, n)
		for i := range agents {
			agents[i] = fmt.Sprint("a", i)
		}
		g := graph{map[string][]string{}, map[string][]string{}}
		var calls []*locktest.Call
		defer func() {
			for _, c := range calls {
				c.Cancel()
				h.Answered(c)
			}
		}()
		locks := rapid.IntRange(1, 2*n).Draw(rt, "locks")
		for range rapid.IntRange(1, 3*n).Draw(rt, "requests") {
			agent := rapid.SampledFrom(agents).Draw(rt, "agent")
			lock := Resource("r", fmt.Sprint(rapid.IntRange(1, locks).Draw(rt, "lock")))
			mode := rapid.SampledFrom([]Mode{Exclusive, Shared}).Draw(rt, "mode")
			if slices.Contains(g.waits[agent], lock) || slices.Contains(g.holds[lock], agent) && mode == Exclusive {
				continue
			}
			c := h.Wait(Request{Name: lock, Agent: agent, Mode: mode})
			select {
			case <-c.Done:
				if c.Err == nil {
					if !slices.Contains(g.holds[lock], agent) {
						g.holds[lock] = append(g.holds[lock], agent)
					}
					continue
				}
			default:
				calls = append(calls, c)
			}
			g.waits[agent] = append(g.waits[agent], lock)
			closes := g.inCycle(agents, agent)
			var e *Error
			refused := errors.As(c.Err, &e)
			if refused != closes {
				rt.Fatalf("%s waits for %s: a cycle %t, refused %t (%v)", agent, lock, closes, refused, c.Err)
			}
			if !refused {
				continue
			}
			require.Equal(t, CodeDeadlock, e.Code)
			for i, from := range e.Cycle {
				to := e.Cycle[(i+1)%len(e.Cycle)]
				waits := slices.ContainsFunc(g.waits[from], func(lock string) bool { return slices.Contains(g.holds[lock], to) })
				require.True(t, waits && from != to, "%s does not wait for %s: %v", from, to, e.Cycle)
			}
			require.Equal(t, agent, e.Cycle[0])
			g.waits[agent] = slices.DeleteFunc(g.waits[agent], func(other string) bool { return other == lock })
			require.Empty(t, g.cycles(agents), "there is one besides")
		}
	})
}

// Chains, in which each waits for the next, and diamonds, in which many wait for those of a
// row below, have no cycle, in whatever order they are made: nobody is refused.
func TestA39NoFalseAlarmOnChainsAndDiamonds(t *testing.T) {
	enginetest.Check(t, 2_000, func(rt *rapid.T) {
		h := locktest.Open(t, locktest.Setup{})
		defer h.End()
		rows := rapid.IntRange(2, 6).Draw(rt, "rows")
		width := rapid.IntRange(1, 30/rows).Draw(rt, "width")
		var places []int
		for place := range (rows - 1) * width {
			places = append(places, place)
		}
		h.Layered(rows, width, rapid.Permutation(places).Draw(rt, "order"))
	})
}

// A chain that is too long to be looked through is refused, since it might be a cycle.
func TestAChainThatIsTooLong(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	h.Set(Config{DefaultTTL: time.Hour})
	agent := func(n int) string { return Task(string(rune('a'+n%26)) + time.Duration(n).String()) }
	for n := range MaxChain + 2 {
		h.Take(agent(n), agent(n), Exclusive)
	}
	var calls []*locktest.Call
	for n := range MaxChain + 1 { // each looks at one: the next waits for nothing yet
		calls = append(calls, h.Wait(Request{Name: agent(n + 1), Agent: agent(n), MaxWait: time.Hour}))
	}
	_, err := h.Acquire(ctx, "t", Request{Name: agent(0), Agent: agent(MaxChain + 1), Wait: true})
	require.ErrorIs(t, err, ErrTooMany)
	for _, c := range calls {
		c.Cancel()
		h.Answered(c)
	}
}
