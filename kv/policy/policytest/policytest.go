// Package policytest tests that policies, agents, intents, claims, delegations and the
// ledger are what the rows of [kv/policy] ask for, however they are reached.
//
// Start at Run. One suite serves both: what holds in process holds for the client of
// package rpc.
//
// [kv/policy]: https://github.com/stoadb/stoa/tree/main/kv/policy#tests-of-the-rows
package policytest

import (
	"testing"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/policy"
)

// Reach says how a test reaches a store on an engine, until leave is called.
type Reach func(t testing.TB, db engine.Engine, s *policy.Store) (r Records, p Policies, leave func())

// InProcess reaches a store without any socket.
func InProcess(_ testing.TB, _ engine.Engine, s *policy.Store) (Records, Policies, func()) {
	return s.Records(), s, func() {}
}

// Run tests each row that has a test here, in a subtest of its name, on an engine in
// memory with a clock of its own.
func Run(t *testing.T, reach Reach) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if !r.together {
				enginetest.SkipUnderRace(t, "one goroutine asks")
			}
			db := mem.New()
			t.Cleanup(func() { _ = db.Close() })
			r.test(t, Open(t, db, kvtest.New(), reach))
		})
	}
}

// Rows returns the names of the subtests, each of which begins with the rows that it is
// of, as B6B7KeysOfEveryNamespace.
func Rows() (names []string) {
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}
