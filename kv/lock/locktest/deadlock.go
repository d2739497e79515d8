package locktest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/lock"
)

func a37TwoThatWaitForEachOther(t *testing.T, h *Host) {
	h.Take("a", lock.Task("1"), lock.Exclusive)
	h.Take("b", lock.Task("2"), lock.Exclusive)
	a := h.Wait(lock.Request{Name: lock.Task("2"), Agent: "a"})
	_, err := h.Acquire(ctx, "t", lock.Request{Name: lock.Task("1"), Agent: "b", Wait: true})
	require.Equal(t, []string{"b", "a"}, h.refused(err, lock.CodeDeadlock).Cycle)
	h.Waits(a)
	h.Free("b", lock.Task("2"))
	h.Granted(a)
}

// Agents that each hold a lock together with a bystander, and want that of the next: the last
// of them closes the cycle, whoever it is, and is refused with all of it.
func a38RingsOfAnySize(t *testing.T, h *Host) {
	random := rand.New(rand.NewPCG(38, 1))
	for _, size := range []int{2, 3, 8, 30} {
		agent := func(n int) string { return fmt.Sprintf("a%d-%d", size, n%size) }
		name := func(n int) string { return lock.Resource("r", agent(n)) }
		for n := range size {
			h.Take(agent(n), name(n), lock.Shared)
			h.Take("bystander", name(n), lock.Shared)
		}
		order := random.Perm(size)
		var calls []*Call
		for _, n := range order[1:] {
			calls = append(calls, h.queued(lock.Request{Name: name(n + 1), Agent: agent(n)}))
		}
		_, err := h.Acquire(ctx, "t", lock.Request{Name: name(order[0] + 1), Agent: agent(order[0]), Wait: true})
		var cycle []string
		for n := range size {
			cycle = append(cycle, agent(order[0]+n))
		}
		require.Equal(t, cycle, h.refused(err, lock.CodeDeadlock).Cycle)
		h.Waits(calls[0])
		for _, c := range calls {
			c.Cancel()
			h.Answered(c)
		}
	}
}

// A grant can close a cycle too: what its agent waits for besides is refused.
func a38AGrantThatClosesACycle(t *testing.T, h *Host) {
	h.Take("h", lock.Task("l"), lock.Exclusive)
	h.Take("w", lock.Task("m"), lock.Exclusive)
	gl, gm := h.Wait(lock.Request{Name: lock.Task("l"), Agent: "g"}), h.Wait(lock.Request{Name: lock.Task("m"), Agent: "g"})
	w := h.Wait(lock.Request{Name: lock.Task("l"), Agent: "w"})
	h.Free("h", lock.Task("l"))
	h.Granted(gl)
	h.Answered(gm)
	require.Equal(t, []string{"g", "w"}, h.refused(gm.Err, lock.CodeDeadlock).Cycle)
	h.Free("g", lock.Task("l"))
	h.Granted(w)
}

// Layered has the agents of a row hold its lock together, and each of them, in some order of
// their places, want that of the next row for itself, which the last row does not: of width
// 1 they are a chain, else diamonds. It demands that nobody is refused, and leaves no lock.
func (h *Host) Layered(rows, width int, order []int) {
	h.T.Helper()
	agent := func(place int) string { return fmt.Sprint("a", place) }
	name := func(row int) string { return lock.Resource("row", fmt.Sprint(row)) }
	for place := range rows * width {
		h.Take(agent(place), name(place/width), lock.Shared)
	}
	var calls []*Call
	for _, place := range order {
		calls = append(calls, h.queued(lock.Request{Name: name(place/width + 1), Agent: agent(place)}))
	}
	for _, c := range calls {
		c.Cancel()
		h.Answered(c)
	}
	for row := range rows { // a client that hangs up is noticed in time
		h.Soon("nobody waits any more", func() bool { return h.Of(name(row)).Waiting == 0 })
	}
	for place := range rows * width {
		h.Free(agent(place), name(place/width))
	}
}

// Chains, in which each waits for the next, and diamonds, in which many wait for those of a
// row below, have no cycle, in whatever order they are made: nobody is refused.
func a39ChainsAndDiamondsAreNoCycles(_ *testing.T, h *Host) {
	random := rand.New(rand.NewPCG(39, 1))
	for _, shape := range [][2]int{{2, 1}, {30, 1}, {2, 10}, {3, 4}, {6, 5}} {
		h.Layered(shape[0], shape[1], random.Perm((shape[0]-1)*shape[1]))
	}
}

func a40A41WithoutDetection(t *testing.T, h *Host) {
	h.Set(lock.Config{IgnoreDeadlocks: true, DefaultTTL: time.Hour})
	h.Take("a", lock.Task("1"), lock.Exclusive)
	h.Take("b", lock.Task("2"), lock.Exclusive)
	a := h.Wait(lock.Request{Name: lock.Task("2"), Agent: "a", MaxWait: time.Hour})
	b := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "b", MaxWait: 40 * time.Second})
	h.Clock.Pass(30 * time.Second)
	h.Soon("the sweep was there", func() bool {
		_, err := h.Lookup(ctx, "t", "ade:lock:deadlock:check:b")
		return err == nil
	})
	h.KeyIs("ade:lock:deadlock:check:a", `"2026-03-01T12:00:30Z"`)
	h.Waits(b)
	h.Clock.Pass(10 * time.Second)
	h.Answered(b)
	require.ErrorIs(t, b.Err, lock.ErrWaitTimeout)
	b = h.Wait(lock.Request{Name: lock.Task("1"), Agent: "b", MaxWait: time.Hour})
	h.Set(lock.Config{})
	h.Clock.Pass(19 * time.Second)
	h.Waits(b) // it is not looked at again before its time
	h.Clock.Pass(11 * time.Second)
	select {
	case <-a.Done:
		require.ErrorIs(t, a.Err, lock.ErrDeadlock)
		h.Waits(b)
		b.Cancel()
	case <-b.Done:
		require.ErrorIs(t, b.Err, lock.ErrDeadlock)
		h.Waits(a)
		a.Cancel()
	case <-time.After(patience):
		require.Fail(t, "the sweep finds nothing")
	}
	h.Answered(a)
	h.Answered(b)
}
