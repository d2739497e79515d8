package lock

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/kvtest"
)

// toldOf is an entry of the stream of locks.
type toldOf struct {
	name     string
	Lock     string `json:"lock"`
	Agent    string `json:"agent_id"`
	From     string `json:"from"`
	To       string `json:"to"`
	Holders  int    `json:"holders"`
	Revision uint64 `json:"revision"`
	Token    uint64 `json:"token"`
}

// stream are all entries of the stream of locks of tenant t.
func (h *host) stream(events *event.Store) (list []toldOf) {
	feed, err := events.Find("t")
	require.NoError(h.t, err)
	entries, err := feed.Range(ctx, event.Lock, event.RangeOptions{Limit: kv.MaxPage})
	require.NoError(h.t, err)
	for _, e := range entries {
		told := toldOf{name: e.Name}
		require.NoError(h.t, json.Unmarshal(e.Payload, &told))
		require.Equal(h.t, eventSource, e.Source)
		list = append(list, told)
	}
	return list
}

// tellingHost is a host whose changes are told.
func tellingHost(t testing.TB, db engine.Engine, clock *kvtest.Clock) (*host, *event.Store) {
	store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	events, err := event.New(store, event.Options{})
	require.NoError(t, err)
	h := &host{t: t, db: db, clock: clock, kv: store}
	h.Store, err = New(store, Options{Log: slog.New(slog.DiscardHandler), Events: events})
	require.NoError(t, err)
	return h, events
}

// Each change of a lock is in the stream once, in order, and says how the lock was held
// before and after: also where a time was over while no process ran, or nobody looked.
func TestA83EachChangeIsToldOnce(t *testing.T) {
	for seed := range enginetest.Scale(20) {
		db, clock := mem.New(), kvtest.New()
		random := rand.New(rand.NewPCG(uint64(seed), 83))
		h, events := tellingHost(t, db, clock)
		names := []string{Task("1"), Task("2"), Resource("db", "1"), Resource("db", "2")}
		for range 120 {
			name, agent := names[random.IntN(len(names))], fmt.Sprint("a", random.IntN(4))
			holding := Holding{Name: name, Agent: agent}
			switch random.IntN(9) {
			case 0, 1, 2:
				mode := Exclusive
				if !exclusiveOnly(name) && random.IntN(2) == 0 {
					mode = Shared
				}
				_, _ = h.Acquire(ctx, "t", Request{Name: name, Agent: agent, Mode: mode, TTL: time.Duration(1+random.IntN(4000)) * time.Millisecond, Durability: engine.WAL})
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
				clock.Pass(time.Duration(random.IntN(2000)) * time.Millisecond)
			case 8:
				require.NoError(t, h.Register(ctx, "t", agent, 5, engine.WAL))
				if random.IntN(4) == 0 {
					h.end()
					clock.Oversleep(time.Duration(random.IntN(3000)) * time.Millisecond)
					h, events = tellingHost(t, db, clock)
				}
			}
		}
		clock.Pass(time.Hour) // the sweep ends what is left
		require.True(t, clock.Until(func() bool {
			space, err := h.space("t")
			require.NoError(t, err)
			stats, err := space.Stats()
			require.NoError(t, err)
			agents := uint64(0)
			for _, err := range space.All(ctx, keyOfAgent("")) {
				require.NoError(t, err)
				agents++
			}
			return stats.Keys == agents
		}))
		var want []string
		for e, err := range h.Watch(ctx, "t", WatchOptions{Resume: true}) {
			require.NoError(t, err)
			if e.Kind == EventSynced {
				break
			}
			want = append(want, fmt.Sprintf("lock:%s %s %s %s %d %d %d", e.Kind, Key(e.Name), e.Agent, e.Mode, e.Holders, e.Revision, e.Token))
		}
		held := map[string]string{}
		var got []string
		for _, e := range h.stream(events) {
			got = append(got, fmt.Sprintf("%s %s %s %s %d %d %d", e.name, e.Lock, e.Agent, e.To, e.Holders, e.Revision, e.Token))
			from := held[e.Lock]
			if from == "" {
				from = Free.String()
			}
			require.Equal(t, from, e.From, "%+v", e)
			held[e.Lock] = e.To
		}
		require.Equal(t, want, got)
		for _, to := range held {
			require.Equal(t, Free.String(), to)
		}
		h.end()
		require.NoError(t, db.Close())
	}
}

// A promotion is told with the release that it lands with.
func TestA83WhoWaitsIsToldOf(t *testing.T) {
	db := mem.New()
	h, events := tellingHost(t, db, kvtest.New())
	h.acquire("a", Task("1"), Exclusive)
	b := h.wait(Request{Name: Task("1"), Agent: "b"})
	h.release("a", Task("1"))
	g := h.granted(b)
	_, err := h.Renew(ctx, "t", Holding{Name: Task("1"), Agent: "b"}, 0, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, []toldOf{
		{"lock:acquired", Key(Task("1")), "a", "free", "exclusive", 1, 1, 1},
		{"lock:queued", Key(Task("1")), "b", "exclusive", "exclusive", 1, 2, 0},
		{"lock:released", Key(Task("1")), "a", "exclusive", "free", 0, 3, 0},
		{"lock:promoted", Key(Task("1")), "b", "free", "exclusive", 1, 4, g.Token},
	}, h.stream(events))
	h.end()
	require.NoError(t, db.Close())
}

// Locks that were held before there were streams are freed all the same.
func TestLocksOfATimeWithoutStreamsExpire(t *testing.T) {
	h := newHost(t)
	h.acquire("a", Task("1"), Exclusive)
	h.end()
	h, events := tellingHost(t, h.db, h.clock)
	defer h.end()
	h.clock.Pass(31 * time.Second)
	h.soon("it expires", func() bool { return h.revision() == 2 })
	require.Empty(t, h.stream(events))
	h.acquire("b", Task("1"), Exclusive)
	require.Len(t, h.stream(events), 1)
}
