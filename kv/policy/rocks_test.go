//go:build cgo

package policy_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv/kvtest"
	. "github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/policy/policytest"
	"github.com/stoadb/stoa/kv/record"
)

// doomed names the directory that a process of this test writes to until it is killed.
const doomed = "STOA_POLICY_DOOMED"

// A process that uses a delegation and logs each use is killed at a random moment: what
// it has answered is there, each use has its event, no id is given twice, and the chain
// is whole.
func TestB36B86AProcessIsKilled(t *testing.T) {
	if dir := os.Getenv(doomed); dir != "" {
		useUntilKilled(t, dir)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(51, 52))
	var told []string
	for range max(enginetest.Scale(6), 2) {
		told = append(told, enginetest.UntilKilled(t, doomed, dir, time.Duration(random.IntN(50_000))*time.Microsecond)...)
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		h := policytest.Open(t, db, kvtest.New(), policytest.InProcess)
		h.Verified()
		head, err := h.Head(ctx, "t")
		require.NoError(t, err)
		uses := 0.0
		for d, err := range h.Store.Records().All(ctx, "t", Delegations) {
			require.NoError(t, err)
			uses += h.Get(Delegations, d.ID)["uses_count"].(float64)
		}
		require.EqualValues(t, head.Events, uses)
		slices.Sort(told)
		require.Equal(t, slices.Compact(slices.Clone(told)), told, "an id was given twice")
		for _, line := range told {
			h.Get(Ledger, line)
		}
		for f, err := range h.KV.Check(ctx) {
			require.NoError(t, err)
			require.Fail(t, "the check finds", f.String())
		}
		h.Close()
		require.NoError(t, db.Close())
	}
}

func useUntilKilled(t *testing.T, dir string) {
	db, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	h := policytest.Open(t, db, kvtest.New(), policytest.InProcess)
	require.NoError(t, h.SetSettings(ctx, "t", Settings{AllowUnknownIntents: true}, record.WriteOptions{}))
	if grants, err := h.WhatCan(ctx, "t", "agent:a"); err == nil && len(grants) == 0 {
		h.Create(Delegations, policytest.SomeDelegation("agent:a", "x"))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				used, err := h.Use(ctx, "t", Question{Agent: "agent:a", Action: "x"}, UseOptions{Durability: engine.Synced, Log: true, Intent: "int-20251130-nobody"})
				require.NoError(t, err)
				_, _ = fmt.Println(used.Event + ".")
			}
		})
	}
	all.Wait()
}

// What an example of each collection is on RocksDB, it is after the store was closed.
func TestB12TheExamplesOnDisk(t *testing.T) {
	dir := t.TempDir()
	want := map[string]policytest.Object{}
	for round := range 2 {
		db, err := rocks.Open(dir, rocks.Options{})
		require.NoError(t, err)
		h := policytest.Open(t, db, kvtest.New(), policytest.InProcess)
		if round == 0 {
			_, err := h.Bootstrap(ctx, "t", engine.Synced)
			require.NoError(t, err)
			for _, collection := range []string{Policies, Intents, Claims, Delegations} {
				d := h.Create(collection, policytest.Example(t, collection))
				want["policy:"+collection] = h.Get(collection, d.ID)
			}
			h.Event("int-20251130-x1y2z3", nil)
		}
		for _, collection := range []string{Policies, Intents, Claims, Delegations} {
			require.Equal(t, policytest.Example(t, collection), want["policy:"+collection])
			found, err := h.Records.List(ctx, "t", collection, record.Query{All: true, Reverse: true, Limit: 1})
			require.NoError(t, err)
			require.JSONEq(t, string(want["policy:"+collection].JSON()), string(found.Docs[0].JSON))
		}
		h.Verified()
		require.True(t, h.Ask("agent:"+Governor, "tool.invoke").Allowed)
		h.Close()
		require.NoError(t, db.Close())
	}
}
