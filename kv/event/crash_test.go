package event

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

// Wherever the process dies, what was answered is in the stream once, and a group is given
// all of it, each entry until it is acknowledged.
func TestA81A82NothingIsLostWhereverTheProcessDies(t *testing.T) {
	random := rand.New(rand.NewPCG(81, 82))
	for range enginetest.Scale(60) {
		db, clock := mem.New(), kvtest.New()
		h := openHost(t, db, clock, Options{})
		h.end()
		f := faulty.New(db, faulty.Options{At: 1 + random.IntN(80), Fault: faulty.CrashBefore + faulty.Fault(random.IntN(2))})
		added, done := map[string]bool{}, map[string]bool{}
		unknown, given := map[string]bool{}, map[string]int{}
		n := 0
		live := func(db engine.Engine, rounds int) {
			store, err := kv.Open(db, kv.Options{Clock: clock})
			if err != nil {
				return
			}
			defer func() { require.NoError(t, store.Close()) }()
			s, err := New(store, Options{})
			require.NoError(t, err)
			feed, err := s.Open(ctx, "t")
			if err != nil {
				return
			}
			consumer := Consumer{Task, "audit-logger", "a"}
			for range rounds {
				n++
				name := fmt.Sprint(n)
				if _, err := feed.Publish(ctx, engine.WAL, Task, []Event{{Name: name}}); err != nil {
					unknown[name] = true
					return
				}
				added[name] = true
				list, err := feed.ReadGroup(ctx, engine.WAL, consumer, 2, 0)
				if err != nil {
					return
				}
				for _, e := range list {
					given[e.Name]++
					if random.IntN(2) == 0 {
						continue // it forgets, or dies before
					}
					unknown["ack "+e.Name] = true
					if _, err := feed.Acknowledge(ctx, engine.WAL, Task, consumer.Group, []ID{e.ID}); err != nil {
						return
					}
					done[e.Name] = true
				}
			}
		}
		live(f, 20)
		live(f.Restart(), 5)
		h = openHost(t, db, clock, Options{})
		all, err := h.Range(ctx, Task, RangeOptions{})
		require.NoError(t, err)
		there := map[string]bool{}
		for _, e := range all {
			require.False(t, there[e.Name], "twice")
			require.True(t, added[e.Name] || unknown[e.Name])
			there[e.Name] = true
		}
		for name := range added {
			require.True(t, there[name], "%s is lost", name)
		}
		_, err = h.ReadGroup(ctx, engine.WAL, Consumer{Task, "audit-logger", "b"}, 0, 0)
		require.NoError(t, err)
		claimed, _, err := h.Claim(ctx, engine.WAL, Consumer{Task, "audit-logger", "b"}, ClaimOptions{})
		require.NoError(t, err)
		pending := map[string]bool{}
		for _, e := range claimed {
			require.False(t, done[e.Name], "%s was acknowledged", e.Name)
			pending[e.Name] = true
		}
		for name := range there {
			require.True(t, pending[name] || done[name] || unknown["ack "+name], "the group is not given %s", name)
		}
		h.end()
		require.NoError(t, db.Close())
	}
}
