//go:build cgo

package event

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

// doomed names the directory that a process of this test writes to until it is killed.
const doomed = "STOA_EVENT_DOOMED"

const audit = "audit-logger"

// keepAll has streams keep whatever a quick machine publishes before it is killed.
var keepAll = Options{Keep: kv.StreamLimits{Age: KeptFor}}

// Processes that publish, and in which consumers of a group read, claim and acknowledge, are
// killed at random moments: what was published is in the stream once, and the group's
// consumers are given all of it until it is acknowledged, and never again after that.
func TestA81AProcessOfConsumersIsKilled(t *testing.T) {
	if dir := os.Getenv(doomed); dir != "" {
		consumeUntilKilled(t, dir)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(81, 83))
	published, given := map[string]bool{}, map[string]bool{}
	// asked is at which line a consumer has begun to ask, and acked at which an entry was
	// acknowledged.
	asked, acked := map[string]int{}, map[string]int{}
	at := 0
	read := func(lines []string) {
		for _, line := range lines {
			at++
			words := strings.Fields(line)
			switch name := words[1]; words[0] {
			case "published":
				published[name] = true
			case "asking":
				asked[name] = at
			case "acknowledged":
				acked[name] = at
			default: // given to a consumer
				if acked[name] != 0 {
					require.Greater(t, acked[name], asked[words[0]], "%s was acknowledged, and is given again", name)
				}
				given[name] = true
			}
		}
	}
	for range max(enginetest.Scale(3), 2) {
		read(enginetest.UntilKilled(t, doomed, dir, time.Duration(random.IntN(60_000))*time.Microsecond))
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		openHost(t, db, kvtest.New(), keepAll).end() // which checks
		require.NoError(t, db.Close())
	}
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	h := openHost(t, db, kvtest.New(), keepAll)
	last := Consumer{Task, audit, "last"}
	for {
		read([]string{"asking last"})
		claimed, _, err := h.Claim(ctx, engine.WAL, last, ClaimOptions{Limit: MaxBatch})
		require.NoError(t, err)
		more, err := h.ReadGroup(ctx, engine.WAL, last, MaxBatch, 0)
		require.NoError(t, err)
		var ids []ID
		for _, e := range append(claimed, more...) {
			read([]string{"last " + e.Name})
			ids = append(ids, e.ID)
		}
		if len(ids) == 0 {
			break
		}
		for part := range slices.Chunk(ids, MaxBatch) {
			_, err = h.Acknowledge(ctx, engine.WAL, Task, audit, part)
			require.NoError(t, err)
		}
	}
	there := map[string]bool{}
	var after ID
	for {
		entries, err := h.Range(ctx, Task, RangeOptions{From: after, Limit: 1000})
		require.NoError(t, err)
		for _, e := range entries {
			require.False(t, there[e.Name], "%s is there twice", e.Name)
			there[e.Name] = true
			require.True(t, given[e.Name], "nobody was given %s", e.Name)
			after = ID{Ms: e.ID.Ms, Seq: e.ID.Seq + 1}
		}
		if len(entries) == 0 {
			break
		}
	}
	for name := range published {
		require.True(t, there[name], "%s is lost", name)
	}
	t.Logf("%d published, %d acknowledged before a kill", len(published), len(acked))
	h.end()
	require.NoError(t, db.Close())
}

func consumeUntilKilled(t *testing.T, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	h := openHost(t, db, kvtest.New(), keepAll)
	say := func(what string, entries []Entry) {
		var text strings.Builder
		for _, e := range entries {
			_, _ = fmt.Fprintf(&text, "%s %s.\n", what, e.Name)
		}
		_, _ = os.Stdout.WriteString(text.String())
	}
	var all sync.WaitGroup
	for client := range 2 {
		random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(client)))
		all.Go(func() {
			for n := 0; ; n++ {
				var events []Event
				for range 1 + random.IntN(3) {
					events = append(events, Event{Name: fmt.Sprint(os.Getpid(), "-", client, "-", n, "-", len(events))})
				}
				_, err := h.Publish(ctx, engine.WAL, Task, events)
				require.NoError(t, err)
				for _, e := range events {
					say("published", []Entry{{Event: e}})
				}
			}
		})
		all.Go(func() {
			c := Consumer{Task, audit, fmt.Sprint("consumer", client)}
			for {
				_, _ = fmt.Printf("asking %s.\n", c.Name)
				entries, err := h.ReadGroup(ctx, engine.WAL, c, 1+random.IntN(5), 0)
				require.NoError(t, err)
				if random.IntN(4) == 0 { // of those that have died too
					claimed, _, err := h.Claim(ctx, engine.WAL, c, ClaimOptions{Limit: 3})
					require.NoError(t, err)
					entries = append(entries, claimed...)
				}
				say(c.Name, entries)
				if len(entries) == 0 || random.IntN(3) == 0 {
					continue // it forgets
				}
				ids := make([]ID, len(entries))
				for i, e := range entries {
					ids[i] = e.ID
				}
				_, err = h.Acknowledge(ctx, engine.WAL, Task, audit, ids)
				require.NoError(t, err)
				say("acknowledged", entries)
			}
		})
	}
	all.Wait()
}
