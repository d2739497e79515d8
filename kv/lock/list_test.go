package lock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// listed reads all pages of a list.
func listed(h *locktest.Host, o ListOptions) (list []Lock) {
	h.T.Helper()
	for range 1000 {
		p, err := h.Store.List(ctx, "t", o)
		require.NoError(h.T, err)
		if o.Limit > 0 {
			require.LessOrEqual(h.T, len(p.Locks), o.Limit)
		}
		list = append(list, p.Locks...)
		if o.Cursor = p.Next; p.Next == "" {
			return list
		}
	}
	require.Fail(h.T, "the list has no end")
	return nil
}

// Pages of any size have every lock that is held once, in order, with what Get says of it.
func TestPagesHaveEveryLockThatIsHeld(t *testing.T) {
	enginetest.Check(t, 300, func(rt *rapid.T) {
		h := locktest.Open(t, locktest.Setup{})
		defer h.End()
		held := map[string][]string{}
		for n := range rapid.IntRange(0, 3).Draw(rt, "agents") { // which stand between resources and tasks
			require.NoError(t, h.Register(ctx, "t", fmt.Sprint("a", n), 100, engine.WAL))
		}
		for range rapid.IntRange(0, 30).Draw(rt, "locks") {
			agent := rapid.SampledFrom([]string{"a0", "a1", "b"}).Draw(rt, "agent")
			name, mode := Task(rapid.SampledFrom([]string{"1", "2", "33", "34"}).Draw(rt, "id")), Exclusive
			if kind := rapid.SampledFrom([]string{"", "db", "d", "file"}).Draw(rt, "kind"); kind != "" {
				name, mode = Resource(kind, name), Shared
			}
			r := Request{Name: name, Agent: agent, Mode: mode, Durability: engine.WAL, TTL: time.Duration(rapid.SampledFrom([]int{1, 60}).Draw(rt, "ttl")) * time.Second}
			if _, err := h.Acquire(ctx, "t", r); err == nil && !slices.Contains(held[name], agent) {
				held[name] = append(held[name], agent)
			}
		}
		if rapid.Bool().Draw(rt, "some expire") {
			h.Clock.Pass(2 * time.Second)
		}
		o := ListOptions{Limit: rapid.IntRange(0, 4).Draw(rt, "limit"), Agent: rapid.SampledFrom([]string{"", "a0", "b"}).Draw(rt, "of"),
			Prefix: rapid.SampledFrom([]string{"", "t", "r", "a", "agent:", "task:3", "resource:d", "resource:db:", "resource:db:task:1"}).Draw(rt, "prefix")}
		var want []Lock
		for name := range held {
			l, err := h.Get("t", name)
			require.NoError(t, err)
			if strings.HasPrefix(name, o.Prefix) && slices.ContainsFunc(l.Holders, func(g Grant) bool { return o.Agent == "" || g.Agent == o.Agent }) {
				want = append(want, l)
			}
		}
		slices.SortFunc(want, func(a, b Lock) int { return strings.Compare(a.Name, b.Name) })
		got := listed(h, o)
		for _, list := range [][]Lock{want, got} {
			for i := range list {
				list[i].Revision = 0 // that a holder's time is over may be written meanwhile
			}
		}
		require.Equal(t, want, got)
	})
}

func TestAListSaysHowManyWait(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	h.Take("a", Task("1"), Exclusive)
	c := h.Wait(Request{Name: Task("1"), Agent: "b"})
	require.Equal(t, 1, listed(h, ListOptions{})[0].Waiting)
	h.Free("a", Task("1"))
	h.Granted(c)
	require.Zero(t, listed(h, ListOptions{})[0].Waiting)
}

func TestPagesOfAgents(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	p, err := h.Store.Agents(ctx, "t", AgentOptions{})
	require.NoError(t, err)
	require.Empty(t, p.Agents)
	for n := range 5 {
		require.NoError(t, h.Register(ctx, "t", fmt.Sprint("a", n), n, engine.WAL))
	}
	h.Take("a3", Task("1"), Exclusive)
	c := h.Wait(Request{Name: Task("1"), Agent: "a2"})
	var list []Agent
	for o := (AgentOptions{Limit: 2}); ; {
		p, err := h.Store.Agents(ctx, "t", o)
		require.NoError(t, err)
		list = append(list, p.Agents...)
		if o.Cursor = p.Next; p.Next == "" {
			break
		}
	}
	require.Len(t, list, 5)
	for n, a := range list {
		one, err := h.Agent(ctx, "t", fmt.Sprint("a", n))
		require.NoError(t, err)
		require.Equal(t, one, a)
	}
	require.Equal(t, 1, list[2].QueuedTasks)
	require.Equal(t, 1, list[3].ActiveTasks)
	c.Cancel()
	h.Answered(c)
}

func TestListsAreBounded(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	h.Take("a", Task("1"), Exclusive)
	for _, o := range []ListOptions{{Limit: MaxListed + 1}, {Limit: -1}, {Agent: "a", Limit: MaxListed + 1}, {Agent: "{"}, {Cursor: "x"}, {Cursor: "0x"}, {Cursor: "2"}} {
		_, err := h.Store.List(ctx, "t", o)
		require.ErrorIs(t, err, ErrInvalidArgument, "%+v", o)
	}
	for _, o := range []AgentOptions{{Limit: MaxAgents + 1}, {Limit: -1}, {Cursor: "x"}} {
		_, err := h.Store.Agents(ctx, "t", o)
		require.ErrorIs(t, err, ErrInvalidArgument, "%+v", o)
	}
}
