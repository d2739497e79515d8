//go:build cgo

package kv

import (
	"bufio"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv/kvtest"
)

// doomed names the directory that a process of this test writes to until it is
// killed.
const doomed = "STOA_KV_DOOMED"

// A process that writes to spaces with indexes, sets and streams is killed at a
// random moment: what it leaves on RocksDB equals a recount, again and again.
// STOA_KV_KILLS says how often; `make kv-kills` has it die 200 times.
func TestX05WhatAKilledProcessLeavesEqualsARecount(t *testing.T) {
	if dir := os.Getenv(doomed); dir != "" {
		writeUntilKilled(t, dir)
	}
	kills := max(enginetest.Scale(10), 2)
	if n, err := strconv.Atoi(os.Getenv("STOA_KV_KILLS")); err == nil {
		kills = n
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(41, 42))
	revisions := uint64(0)
	for range kills {
		cmd := enginetest.EndWithParent(exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$"))
		cmd.Env = append(os.Environ(), doomed+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n') // it writes now
		time.Sleep(time.Duration(random.IntN(100_000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		require.NoError(t, err)

		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		for f, err := range Check(ctx, db, words, plain) {
			require.NoError(t, err)
			require.Fail(t, "the check finds", f.String())
		}
		h := openTestStore(t, db, kvtest.New())
		stats, err := h.space("t0", "words").Stats()
		require.NoError(t, err)
		require.GreaterOrEqual(t, stats.Revision, revisions, "changes are lost")
		revisions = stats.Revision
		require.NoError(t, h.Close())
		require.NoError(t, db.Close())
	}
	require.NotZero(t, revisions)
}

func writeUntilKilled(t *testing.T, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	s, err := Open(db, Options{Types: []Type{words, plain}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	var begun sync.Once
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(w)))
			space, err := s.CreateSpace(ctx, fmt.Sprint("t", w%2), SystemTest, "words", Quota{})
			for err == nil {
				if err = disturb(r, space); w == 0 {
					begun.Do(func() { fmt.Println("writing") })
				}
			}
		})
	}
	all.Wait()
}
