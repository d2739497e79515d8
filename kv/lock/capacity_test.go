//go:build cgo

package lock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv/kvtest"
	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// inHands is who holds the locks of some tasks: the number of an agent, 0 for none.
type inHands [5]int8

// grasp is what is done with the lock of a task in the name of an agent: "acquire",
// "release", or "look" at how many locks the agent holds, whichever.
type grasp struct {
	Op    string
	Agent int8
	Task  int
}

// grasped is what comes of it: whether the agent has the lock, or had it, and how many.
type grasped struct {
	OK     bool
	Active int
}

// mostTasks is how many locks each agent may hold.
const mostTasks = 2

// withinCapacity is how locks of agents with a capacity go from hand to hand.
func withinCapacity(s inHands, in grasp, out *grasped) (inHands, bool) {
	held := 0
	for _, agent := range s {
		if agent == in.Agent {
			held++
		}
	}
	var want grasped
	switch in.Op {
	case "acquire":
		if want.OK = s[in.Task] == in.Agent || s[in.Task] == 0 && held < mostTasks; want.OK {
			s[in.Task] = in.Agent
		}
	case "release":
		if want.OK = s[in.Task] == in.Agent; want.OK {
			s[in.Task] = 0
		}
	case "look":
		want.Active = held
	}
	return s, out == nil || *out == want
}

// Callers take and release locks in the names of agents that may hold two, and look at how
// many they hold, in processes that are killed: that is linearizable, so that no agent ever
// holds more, and what it is said to hold is what it was granted.
func TestA21CapacityWhereverTheProcessIsKilled(t *testing.T) {
	if dir := os.Getenv(doomed); dir != "" {
		graspUntilKilled(t, dir)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(21, 22))
	var h kvtest.History[grasp, grasped]
	for range max(enginetest.Scale(3), 2) {
		h.Add(t, enginetest.UntilKilled(t, doomed, dir, time.Duration(random.IntN(40_000))*time.Microsecond))
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		host := locktest.Open(t, locktest.Setup{DB: db})
		for agent := int8(1); agent <= 2; agent++ {
			out, err := graspOf(host, grasp{Op: "look", Agent: agent})
			require.NoError(t, err)
			h.Do(grasp{Op: "look", Agent: agent}, out)
		}
		host.End()
		require.NoError(t, db.Close())
	}
	kvtest.Linearizable(t, &h, kvtest.Rule[inHands, grasp, grasped]{Step: withinCapacity})
	t.Logf("%d operations", h.Answered())
}

func graspOf(h *locktest.Host, in grasp) (out grasped, err error) {
	agent, name := fmt.Sprint("agent-", in.Agent), Task(fmt.Sprint(in.Task))
	switch in.Op {
	case "acquire":
		_, err = h.Acquire(ctx, "t", Request{Name: name, Agent: agent, TTL: time.Hour, Durability: engine.WAL})
		if out.OK = err == nil; errors.Is(err, ErrHeld) || errors.Is(err, ErrCapacity) {
			err = nil
		}
	case "release":
		out.OK, err = h.Release(ctx, "t", Holding{Name: name, Agent: agent}, engine.WAL)
	case "look":
		var a Agent
		a, err = h.Agent(ctx, "t", agent)
		if out.Active = a.ActiveTasks; errors.Is(err, ErrNotFound) {
			err = nil // it was killed before it was registered
		}
	}
	return out, err
}

// graspUntilKilled is the process. Its clock stands still, so that nothing expires.
func graspUntilKilled(t *testing.T, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	h := locktest.Open(t, locktest.Setup{DB: db})
	for agent := 1; agent <= 2; agent++ {
		require.NoError(t, h.Register(ctx, "t", fmt.Sprint("agent-", agent), mostTasks, engine.WAL))
	}
	var all sync.WaitGroup
	for client := range 5 {
		random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(client)))
		all.Go(func() {
			for {
				in := grasp{[]string{"acquire", "acquire", "release", "look"}[random.IntN(4)], int8(1 + random.IntN(2)), random.IntN(len(inHands{}))}
				if in.Op == "look" {
					in.Task = 0
				}
				kvtest.Tell(client, in, func() grasped {
					out, err := graspOf(h, in)
					require.NoError(t, err)
					return out
				})
			}
		})
	}
	all.Wait()
}

// The judge says no to a third lock, and to a count that is not that of the grants.
func TestTheJudgeOfCapacityFindsMistakes(t *testing.T) {
	two := inHands{1, 1}
	_, ok := withinCapacity(two, grasp{"acquire", 1, 2}, &grasped{OK: true})
	require.False(t, ok)
	_, ok = withinCapacity(two, grasp{Op: "look", Agent: 1}, &grasped{Active: 1})
	require.False(t, ok)
	_, ok = withinCapacity(two, grasp{"acquire", 2, 0}, &grasped{OK: true})
	require.False(t, ok)
}
