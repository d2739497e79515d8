package locktest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/lock"
)

// Told is an entry of the stream of locks.
type Told struct {
	Event    string `json:"-"`
	Lock     string `json:"lock"`
	Agent    string `json:"agent_id"`
	From     string `json:"from"`
	To       string `json:"to"`
	Holders  int    `json:"holders"`
	Revision uint64 `json:"revision"`
	Token    uint64 `json:"token"`
}

// Entries are those of the stream of locks.
func (h *Host) Entries() (list []Told) {
	h.T.Helper()
	entries, err := h.Stream(ctx, "t")
	require.NoError(h.T, err)
	for _, e := range entries {
		told := Told{Event: e.Name}
		require.NoError(h.T, json.Unmarshal(e.Payload, &told))
		require.Equal(h.T, "stoa", e.Source)
		list = append(list, told)
	}
	return list
}

// Each change of a lock is in the stream once, in order, and says how the lock was held
// before and after: also where a time was over while no process ran, or nobody looked.
func a83EachChangeIsToldOnce(t *testing.T, first *Host) {
	for seed := range enginetest.Scale(10) {
		h := first
		if seed > 0 {
			h = Open(t, Setup{Reach: first.setup.Reach, Told: true})
		}
		random := rand.New(rand.NewPCG(uint64(seed), 83))
		for range 120 {
			h = h.doAnything(random)
		}
		h.Clock.Pass(time.Hour) // the sweep ends what is left
		require.True(t, h.Clock.Until(func() bool { return h.records() == h.registered() }))
		h.toldAsWatched()
		h.End()
	}
}

// doAnything changes a lock, lets time pass, or goes on as the next process.
func (h *Host) doAnything(random *rand.Rand) *Host {
	t := h.T
	name := []string{lock.Task("1"), lock.Task("2"), lock.Resource("db", "1"), lock.Resource("db", "2")}[random.IntN(4)]
	agent := fmt.Sprint("a", random.IntN(4))
	holding := lock.Holding{Name: name, Agent: agent}
	switch random.IntN(9) {
	case 0, 1, 2:
		mode := lock.Exclusive
		if strings.HasPrefix(name, "resource:") && random.IntN(2) == 0 {
			mode = lock.Shared
		}
		_, _ = h.Acquire(ctx, "t", lock.Request{Name: name, Agent: agent, Mode: mode, TTL: time.Duration(1+random.IntN(4000)) * time.Millisecond, Durability: engine.WAL})
	case 3:
		_, err := h.Release(ctx, "t", holding, engine.WAL)
		require.NoError(t, err)
	case 4:
		_, _ = h.Renew(ctx, "t", holding, 0, engine.WAL)
	case 5:
		_, _ = h.Downgrade(ctx, "t", holding, engine.WAL)
	case 6:
		_, err := h.ReleaseAll(ctx, "t", agent, engine.WAL)
		require.NoError(t, err)
	case 7:
		h.Clock.Pass(time.Duration(random.IntN(2000)) * time.Millisecond)
	case 8:
		require.NoError(t, h.Register(ctx, "t", agent, 5, engine.WAL))
		if random.IntN(4) == 0 {
			h.End()
			h.Clock.Oversleep(time.Duration(random.IntN(3000)) * time.Millisecond)
			return h.Reopen()
		}
	}
	return h
}

// records is how many there are of locks and agents.
func (h *Host) records() uint64 {
	stats, err := h.Space("t").Stats()
	require.NoError(h.T, err)
	return stats.Keys
}

// registered is how many agents are.
func (h *Host) registered() (n uint64) {
	for _, err := range h.Space("t").All(ctx, []byte("agent:")) {
		require.NoError(h.T, err)
		n++
	}
	return n
}

// toldAsWatched demands that the stream has what a watch of all locks tells, and from where to
// where each of them went until it was free.
func (h *Host) toldAsWatched() {
	t := h.T
	var want []string
	for e, err := range h.Watch(ctx, "t", lock.WatchOptions{Resume: true}) {
		require.NoError(t, err)
		if e.Kind == lock.EventSynced {
			break
		}
		want = append(want, fmt.Sprintf("lock:%s %s %s %s %d %d %d", e.Kind, lock.Key(e.Name), e.Agent, e.Mode, e.Holders, e.Revision, e.Token))
	}
	held := map[string]string{}
	var got []string
	for _, e := range h.Entries() {
		got = append(got, fmt.Sprintf("%s %s %s %s %d %d %d", e.Event, e.Lock, e.Agent, e.To, e.Holders, e.Revision, e.Token))
		from := held[e.Lock]
		if from == "" {
			from = lock.Free.String()
		}
		require.Equal(t, from, e.From, "%+v", e)
		held[e.Lock] = e.To
	}
	require.Equal(t, want, got)
	for _, to := range held {
		require.Equal(t, lock.Free.String(), to)
	}
}

// A promotion is told with the release that it lands with.
func a83WhoWaitsIsToldOf(t *testing.T, h *Host) {
	h.Take("a", lock.Task("1"), lock.Exclusive)
	b := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "b"})
	h.Free("a", lock.Task("1"))
	g := h.Granted(b)
	_, err := h.Renew(ctx, "t", lock.Holding{Name: lock.Task("1"), Agent: "b"}, 0, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, []Told{
		{"lock:acquired", "ade:lock:task:1", "a", "free", "exclusive", 1, 1, 1},
		{"lock:queued", "ade:lock:task:1", "b", "exclusive", "exclusive", 1, 2, 0},
		{"lock:released", "ade:lock:task:1", "a", "exclusive", "free", 0, 3, 0},
		{"lock:promoted", "ade:lock:task:1", "b", "free", "exclusive", 1, 4, g.Token},
	}, h.Entries())
}
