// Package approvaltest tests that tasks and approvals are what the rows of [kv/approval] ask
// for, however they are reached.
//
// Start at Run. One suite serves both: what holds in process holds for the client of
// package rpc.
//
// [kv/approval]: https://github.com/stoadb/stoa/tree/main/kv/approval#tests-of-the-rows
package approvaltest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/record"
)

// Approvals are what is tested of [approval.Store].
type Approvals interface {
	tasks
	requests
}

type tasks interface {
	CreateTask(ctx context.Context, tenant string, doc []byte, o record.WriteOptions) (record.Doc, error)
	Task(ctx context.Context, tenant, id string) (record.Doc, error)
	UpdateTask(ctx context.Context, tenant, id string, patch []byte, o record.UpdateOptions) (record.Doc, error)
	DeleteTask(ctx context.Context, tenant, id string, o record.UpdateOptions) (record.Doc, error)
	Move(ctx context.Context, tenant, id string, m approval.Move) (record.Doc, error)
	TimeOut(ctx context.Context, tenant, id string) (record.Doc, error)
	Assess(ctx context.Context, tenant, id string, a approval.Assessment, o record.UpdateOptions) (record.Doc, error)
	SetPreview(ctx context.Context, tenant, id string, preview []byte, o record.WriteOptions) error
	Preview(ctx context.Context, tenant, id string) (json.RawMessage, error)
	TaskStats(ctx context.Context, tenant, task string) (approval.TaskStats, error)
}

type requests interface {
	Request(ctx context.Context, tenant, task string, a approval.Asking, o record.WriteOptions) ([]record.Doc, error)
	Approval(ctx context.Context, tenant, id string) (record.Doc, error)
	Queue(ctx context.Context, tenant, user string, q record.Query) (record.Page, error)
	Respond(ctx context.Context, tenant string, a approval.Answer, d engine.Durability) (record.Doc, error)
	RespondAll(ctx context.Context, tenant string, list []approval.Answer, d engine.Durability) ([]record.Doc, error)
	Delegate(ctx context.Context, tenant string, g approval.Delegation, d engine.Durability) (record.Doc, error)
	Escalate(ctx context.Context, tenant, id string) (record.Doc, error)
	EscalateDue(ctx context.Context, tenant string) (int, error)
	Archive(ctx context.Context, tenant, id string) (bool, error)
	UserStats(ctx context.Context, tenant, user string) (approval.UserStats, error)
	Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error)
}

// Reach says how a test reaches a store on an engine, until leave is called.
type Reach func(t testing.TB, db engine.Engine, s *approval.Store) (a Approvals, leave func())

// InProcess reaches a store without any socket.
func InProcess(_ testing.TB, _ engine.Engine, s *approval.Store) (Approvals, func()) {
	return s, func() {}
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
