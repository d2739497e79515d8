//go:build cgo

package lock_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// doomed names the directory that a process of this test writes to until it is killed.
const doomed = "STOA_LOCK_DOOMED"

// besides are the records that the agents of the test keep under their lock.
var besides = kv.Type{System: kv.SystemTest, Space: "besides"}

// Agents that take turns with a lock, and write under its token, are killed at a random
// moment: no token is given twice or goes back, every write that was answered is there,
// and the lock is free once its time is over.
func TestA7A21AProcessIsKilled(t *testing.T) {
	if dir := os.Getenv(doomed); dir != "" {
		lockUntilKilled(t, dir)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(71, 72))
	var last uint64
	for range max(enginetest.Scale(6), 2) {
		for _, line := range enginetest.UntilKilled(t, doomed, dir, time.Duration(random.IntN(50_000))*time.Microsecond) {
			token, err := strconv.ParseUint(line, 10, 64)
			require.NoError(t, err)
			require.Greater(t, token, last)
			last = token
		}
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		h := locktest.Open(t, locktest.Setup{DB: db})
		require.NoError(t, h.KV.Declare(besides))
		space, err := h.KV.Space("t", kv.SystemTest, besides.Space)
		require.NoError(t, err)
		r, err := space.Get([]byte("token"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, binary.LittleEndian.Uint64(r.Value), last, "what was answered is there")
		for n := range 4 {
			a, err := h.Agent(ctx, "t", fmt.Sprint("a", n))
			if !errors.Is(err, ErrNotFound) {
				require.NoError(t, err)
				require.LessOrEqual(t, a.ActiveTasks, 1)
			}
		}
		var held *Error
		if _, err := h.Try("after", Task("1"), Exclusive); errors.As(err, &held) {
			h.Clock.Pass(held.Remaining)
		}
		g := h.Take("after", Task("1"), Exclusive)
		require.Greater(t, g.Token, last)
		h.Free("after", Task("1"))
		last = g.Token
		h.End()
		require.NoError(t, db.Close())
	}
}

func lockUntilKilled(t *testing.T, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	store, err := kv.Open(db, kv.Options{Types: []kv.Type{besides}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := New(store, Options{})
	require.NoError(t, err)
	space, err := store.CreateSpace(ctx, "t", kv.SystemTest, besides.Space, kv.Quota{})
	require.NoError(t, err)
	var all sync.WaitGroup
	for n := range 4 {
		agent := fmt.Sprint("a", n)
		require.NoError(t, s.Register(ctx, "t", agent, 1, engine.WAL))
		all.Go(func() {
			for {
				g, err := s.Acquire(ctx, "t", Request{Name: Task("1"), Agent: agent, Wait: true, TTL: 10 * time.Second, Durability: engine.WAL})
				require.NoError(t, err)
				expect, err := s.Guards("t", Guard{g.Name, g.Token})
				require.NoError(t, err)
				err = space.Update(ctx, engine.WAL, func(tx *kv.Tx) error {
					if err := expect.Check(tx.Work()); err != nil {
						return err
					}
					if r, err := tx.Get([]byte("token")); err == nil && binary.LittleEndian.Uint64(r.Value) >= g.Token {
						return fmt.Errorf("token %d after %d", g.Token, binary.LittleEndian.Uint64(r.Value))
					}
					_, err := tx.Put([]byte("token"), binary.LittleEndian.AppendUint64(nil, g.Token), kv.PutOptions{})
					return err
				})
				if errors.Is(err, ErrFenced) {
					continue
				}
				require.NoError(t, err)
				_, _ = fmt.Printf("%d.\n", g.Token)
				_, err = s.Release(ctx, "t", Holding{g.Name, agent, g.Token}, engine.WAL)
				require.NoError(t, err)
			}
		})
	}
	all.Wait()
}
