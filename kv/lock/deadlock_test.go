package lock

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
		h := newHost(t)
		defer h.end()
		n := rapid.IntRange(2, 30).Draw(rt, "agents")
		agents := make([]string, n)
		for i := range agents {
			agents[i] = fmt.Sprint("a", i)
		}
		g := graph{map[string][]string{}, map[string][]string{}}
		var calls []*call
		defer func() {
			for _, c := range calls {
				c.cancel()
				h.answered(c)
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
			c := h.wait(Request{Name: lock, Agent: agent, Mode: mode})
			select {
			case <-c.done:
				if c.err == nil {
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
			refused := errors.As(c.err, &e)
			if refused != closes {
				rt.Fatalf("%s waits for %s: a cycle %t, refused %t (%v)", agent, lock, closes, refused, c.err)
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
		h := newHost(t)
		defer h.end()
		rows := rapid.IntRange(2, 6).Draw(rt, "rows")
		width := rapid.IntRange(1, 30/rows).Draw(rt, "width") // 1: a chain
		type at struct{ row, column int }
		agent := func(a at) string { return fmt.Sprint("a", a.row, "-", a.column) }
		lock := func(row int) string { return Resource("r", fmt.Sprint("row", row)) }
		var all []at
		for row := range rows {
			for column := range width {
				all = append(all, at{row, column})
				h.acquire(agent(at{row, column}), lock(row), Shared) // a row holds its lock together
			}
		}
		var calls []*call
		for _, a := range rapid.Permutation(all).Draw(rt, "order") {
			if a.row+1 < rows { // and each wants that of the next for itself
				c := h.wait(Request{Name: lock(a.row + 1), Agent: agent(a)})
				select {
				case <-c.done:
					rt.Fatalf("%s is refused: %v", agent(a), c.err)
				default:
				}
				calls = append(calls, c)
			}
		}
		for _, c := range calls {
			c.cancel()
			h.answered(c)
		}
	})
}

// A grant can close a cycle too: what its agent waits for besides is refused.
func TestA38AGrantThatClosesACycle(t *testing.T) {
	h := newHost(t)
	h.acquire("h", Task("l"), Exclusive)
	h.acquire("w", Task("m"), Exclusive)
	gl, gm := h.wait(Request{Name: Task("l"), Agent: "g"}), h.wait(Request{Name: Task("m"), Agent: "g"})
	w := h.wait(Request{Name: Task("l"), Agent: "w"})
	h.release("h", Task("l"))
	h.granted(gl)
	h.answered(gm)
	var e *Error
	require.ErrorAs(t, gm.err, &e)
	require.Equal(t, CodeDeadlock, e.Code)
	require.Equal(t, []string{"g", "w"}, e.Cycle)
	h.release("g", Task("l"))
	h.granted(w)
}

func TestA40A41WithoutDetection(t *testing.T) {
	h := newHost(t)
	h.set(Config{IgnoreDeadlocks: true, DefaultTTL: time.Hour})
	h.acquire("a", Task("1"), Exclusive)
	h.acquire("b", Task("2"), Exclusive)
	a := h.wait(Request{Name: Task("2"), Agent: "a", MaxWait: time.Hour})
	b := h.wait(Request{Name: Task("1"), Agent: "b", MaxWait: 40 * time.Second})
	h.clock.Pass(30 * time.Second)
	h.soon("the sweep was there", func() bool {
		_, err := h.Lookup(ctx, "t", "ade:lock:deadlock:check:b")
		return err == nil
	})
	require.Equal(t, `"2026-03-01T12:00:30Z"`, h.key("ade:lock:deadlock:check:a"))
	h.waits(b)
	h.clock.Pass(10 * time.Second)
	h.answered(b)
	require.ErrorIs(t, b.err, ErrWaitTimeout)
	b = h.wait(Request{Name: Task("1"), Agent: "b", MaxWait: time.Hour})
	h.set(Config{})
	h.clock.Pass(19 * time.Second)
	h.waits(b) // it is not looked at again before its time
	h.clock.Pass(11 * time.Second)
	select {
	case <-a.done:
		require.ErrorIs(t, a.err, ErrDeadlock)
		h.waits(b)
		b.cancel()
	case <-b.done:
		require.ErrorIs(t, b.err, ErrDeadlock)
		h.waits(a)
		a.cancel()
	case <-time.After(time.Minute):
		require.Fail(t, "the sweep finds nothing")
	}
	h.answered(a)
	h.answered(b)
}
