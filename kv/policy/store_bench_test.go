//go:build cgo

package policy_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	. "github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/policy/policytest"
	"github.com/stoadb/stoa/kv/record"
)

// benchHost is a store on RocksDB with 1,000 delegations and 200 policies of three rules.
func benchHost(b *testing.B) *policytest.Host {
	db, err := rocks.Open(b.TempDir(), rocks.Options{})
	require.NoError(b, err)
	h := policytest.Open(b, db, kvtest.New(), policytest.InProcess)
	b.Cleanup(func() {
		h.Close()
		require.NoError(b, db.Close())
	})
	for i := range 1000 {
		h.Create(Delegations, policytest.SomeDelegation(fmt.Sprint("agent:a", i/10), fmt.Sprintf("tool%d.*", i%10), fmt.Sprintf("other%d.read", i%7)))
	}
	for i := range 200 {
		p := policytest.SomePolicy(fmt.Sprintf("tool%d.act%d", i%10, i/10), "amount > 100", "deny", 9)
		p["rules"] = append(p["rules"].([]policytest.Object), policytest.Object{"rule_id": "r2", "condition": "recipient.domain NOT IN approved_domains", "action": "require_human_approval", "priority": 5},
			policytest.Object{"rule_id": "r3", "condition": "true", "action": "allow", "priority": 0})
		h.Create(Policies, p)
	}
	return h
}

var benchQuestion = Question{Agent: "agent:a1", Action: "tool1.act1", Context: map[string]any{"amount": 1.0, "approved_domains": []any{"a.io"}, "recipient": map[string]any{"domain": "a.io"}}}

// BenchmarkStore is what a decision by what is stored costs, and what appending to the
// ledger does beside a put of a value of the same length.
func BenchmarkStore(b *testing.B) {
	h := benchHost(b)
	intent := h.Intent()
	b.Run("decide", func(b *testing.B) {
		b.ReportAllocs()
		defer Processor(b)()
		for b.Loop() {
			d, err := h.Decide(ctx, "t", benchQuestion)
			if err != nil || !d.Allowed {
				b.Fatal(d, err)
			}
		}
	})
	parallel := func(name string, fn func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(32)
			defer Processor(b)()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := fn(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
	event := policytest.SomeEvent(intent).JSON()
	length := len(event) + 400 // as it is stored
	beside := kv.Type{System: kv.SystemTest, Space: "beside"}
	require.NoError(b, h.KV.Declare(beside))
	space, err := h.KV.CreateSpace(ctx, "t", kv.SystemTest, "beside", kv.Quota{})
	require.NoError(b, err)
	var n atomic.Int64
	for _, d := range []engine.Durability{engine.WAL, engine.Synced} {
		parallel(fmt.Sprint("append/", d), func() error {
			_, err := h.Append(ctx, "t", event, record.WriteOptions{Durability: d})
			return err
		})
		value := make([]byte, length)
		parallel(fmt.Sprint("put/", d), func() error {
			return space.Update(ctx, d, func(tx *kv.Tx) error {
				_, err := tx.Put(fmt.Append(nil, n.Add(1)), value, kv.PutOptions{})
				return err
			})
		})
		parallel(fmt.Sprint("use/", d), func() error {
			_, err := h.Use(ctx, "t", benchQuestion, UseOptions{Durability: d})
			return err
		})
		parallel(fmt.Sprint("use and log/", d), func() error {
			_, err := h.Use(ctx, "t", benchQuestion, UseOptions{Durability: d, Log: true, Intent: intent})
			return err
		})
	}
}
