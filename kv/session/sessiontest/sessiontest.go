// Package sessiontest tests that sessions are what the rows of [kv/session] ask for, however
// they are reached.
//
// Start at Run. One suite serves both: what holds in process holds for the client of
// package rpc.
//
// [kv/session]: https://github.com/stoadb/stoa/tree/main/kv/session#tests-of-the-rows
package sessiontest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/session"
)

// Sessions are what is tested of [session.Store].
type Sessions interface {
	holders
	lookers
}

type holders interface {
	Create(ctx context.Context, tenant string, doc []byte, o record.WriteOptions) (record.Doc, error)
	Get(ctx context.Context, tenant, ref string) (record.Doc, error)
	Touch(ctx context.Context, tenant, id string, o record.WriteOptions) (record.Doc, error)
}

type lookers interface {
	List(ctx context.Context, tenant, user string, q record.Query) (record.Page, error)
	Revoke(ctx context.Context, tenant, ref string, d engine.Durability) (bool, error)
	RevokeAll(ctx context.Context, tenant, user string, d engine.Durability) (int, error)
	Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error)
	Import(ctx context.Context, tenant string, docs []json.RawMessage, d engine.Durability) (session.Imported, error)
}

// Reach says how a test reaches a store on an engine, until leave is called.
type Reach func(t testing.TB, db engine.Engine, s *session.Store) (reached Sessions, leave func())

// InProcess reaches a store without any socket.
func InProcess(_ testing.TB, _ engine.Engine, s *session.Store) (Sessions, func()) {
	return s, func() {}
}

// rows are the tests in order of the first row that each is of.
var rows = []struct {
	name     string
	test     func(*testing.T, *Host)
	together bool // several ask at once
}{
	{"A1A2LiteralKeys", a1A2LiteralKeys, false},
	{"A72A93ASessionIsThereForADay", a72A93ASessionIsThereForADay, false},
	{"A72ASlidingSessionIsThereFromItsLastTouchOn", a72ASlidingSession, false},
	{"A73AllSessionsOfAUserAreRevoked", a73AllSessionsOfAUserAreRevoked, true},
	{"SessionsAreImported", sessionsAreImported, false},
	{"RefusalsNameTheirField", refusalsNameTheirField, false},
	{"ListsAreInOrderAndWithoutIDs", listsAreInOrderAndWithoutIDs, false},
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

// Rows returns the names of the subtests, each of which begins with the rows that it is of.
func Rows() (names []string) {
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}
