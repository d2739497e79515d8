//go:build cgo

package stream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
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
const doomed = "STOA_STREAM_DOOMED"

// Processes that add entries and project them are killed at random moments: what was added is
// there once, and is applied once.
func TestT67EachEntryIsAppliedOnceOverKills(t *testing.T) {
	if dir := os.Getenv(doomed); dir != "" {
		projectUntilKilled(t, dir)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(67, 50))
	told, tried := map[string]bool{}, 0
	for range max(enginetest.Scale(50), 2) {
		for _, line := range enginetest.UntilKilled(t, doomed, dir, time.Duration(random.IntN(30_000))*time.Microsecond) {
			switch words := strings.Fields(line); words[0] {
			case "added":
				told[words[1]] = true
			case "applying":
				tried++
			}
		}
	}
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	h := openHost(t, db, later())
	c := h.find("c")
	left := h.info(c).AckPending
	stream, err := h.Info(ctx, "s")
	require.NoError(t, err)
	h.project(c, stream.Last, count(h.bound))
	want := map[string]string{}
	for from := uint64(1); from != 0; {
		var entries []Entry
		entries, from, err = h.Range(ctx, "s", RangeOptions{From: from, Limit: MaxBatch})
		require.NoError(t, err)
		for _, e := range entries {
			want[e.Subject], want["last"] = "1", fmt.Sprint(e.Number)
			delete(told, e.Subject)
		}
	}
	require.Empty(t, told, "what was answered is lost")
	require.Equal(t, want, counted(t, h.bound))
	require.Zero(t, h.info(c).Dead)
	t.Logf("%d entries, %d times one was about to be applied; the last kill left %d delivered", stream.Last, tried, left)
	h.end()
	require.NoError(t, db.Close())
}

// later is a clock that stands still, later than those of processes that began before: what they
// had is due again, and nothing of this process ever is.
func later() *kvtest.Clock {
	clock := kvtest.New()
	clock.Oversleep(time.Since(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)))
	return clock
}

// projectUntilKilled adds entries and projects them.
func projectUntilKilled(t *testing.T, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	h := openHost(t, db, later())
	_, err = h.Create(ctx, engine.WAL, "s", kv.StreamLimits{})
	require.NoError(t, err)
	_, err = h.CreateConsumer(ctx, engine.WAL, "s", Config{Name: "c", AckWait: MinAckWait, MaxDeliver: MaxDelivered})
	require.NoError(t, err)
	c := h.find("c")
	say := func(what, subject string) { _, _ = os.Stdout.WriteString(what + " " + subject + ".\n") }
	for range 2 {
		go func() {
			require.NoError(t, c.Project(context.Background(), engine.WAL, func(w *kv.Work, e Entry) error {
				say("applying", e.Subject)
				return count(h.bound)(w, e)
			}))
		}()
	}
	for n := 0; ; n++ {
		subject := fmt.Sprint(os.Getpid(), "-", n)
		_, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{}, Message{Subject: subject})
		require.NoError(t, err)
		say("added", subject)
	}
}
