package agents

import (
	"context"
	"encoding/json"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/access"
	_ "github.com/stoadb/stoa/rpc/internal/approvalwire" // says how approvals go over the wire
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Tasks are the tasks of a tenant: changes that are reviewed before they are made; see
// package approval. They are records of the collection task, by which they are listed and
// watched. Beside the errors of calls (ErrUnavailable, ErrBusy, ErrBound) methods return
// [*record.Error], and [*lock.Error] where a lock is not held. It is a view of its client, and
// as safe for concurrent use.
//
// [*lock.Error]: https://pkg.go.dev/github.com/stoadb/stoa/kv/lock#Error
type Tasks struct {
	c      caller.Caller
	tenant string
}

// NewTasks returns the tasks of a tenant, for package rpc.
func NewTasks(c caller.Caller, tenant string) *Tasks { return &Tasks{c, tenant} }

// taskDocument are the arguments of Create.
type taskDocument struct {
	op.OfTenant
	Document   []byte
	Durability engine.Durability
}

var taskCreate = op.New(op.Method{Number: 1251, Name: "Task.Create", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskDocument) (record.Doc, error) {
		return s.CreateTask(ctx, a.Tenant, a.Document, record.WriteOptions{Durability: a.Durability})
	})

// Create makes a task of what doc is as JSON, in the state DRAFT, and returns it as it is
// stored; see [approval.Store.CreateTask].
func (t *Tasks) Create(ctx context.Context, doc any, d engine.Durability) (record.Doc, error) {
	text, err := caller.JSONOf("task", doc)
	if err != nil {
		return record.Doc{}, err
	}
	return caller.Call(ctx, t.c, taskCreate, taskDocument{op.Of(t.tenant), text, d})
}

// taskID are arguments about a task.
type taskID struct {
	op.OfTenant
	TaskID string
}

var taskGet = op.New(op.Method{Number: 1252, Name: "Task.Get", Role: access.Reader, Tenant: true, Short: true},
	func(ctx context.Context, s *approval.Store, a *taskID) (record.Doc, error) {
		return s.Task(ctx, a.Tenant, a.TaskID)
	})

// Get returns a task.
func (t *Tasks) Get(ctx context.Context, id string) (record.Doc, error) {
	return caller.Call(ctx, t.c, taskGet, taskID{op.Of(t.tenant), id})
}

// taskChange are the arguments of Update.
type taskChange struct {
	taskID
	record.UpdateOptions
	Patch []byte
}

var taskUpdate = op.New(op.Method{Number: 1253, Name: "Task.Update", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskChange) (record.Doc, error) {
		return s.UpdateTask(ctx, a.Tenant, a.TaskID, a.Patch, a.UpdateOptions)
	})

// Update applies what patch is as JSON, a merge patch, to what a task says of itself; see
// [approval.Store.UpdateTask].
func (t *Tasks) Update(ctx context.Context, id string, patch any, o record.UpdateOptions) (record.Doc, error) {
	text, err := caller.JSONOf(id, patch)
	if err != nil {
		return record.Doc{}, err
	}
	return caller.Call(ctx, t.c, taskUpdate, taskChange{taskID{op.Of(t.tenant), id}, o, text})
}

// taskMove are the arguments of Move.
type taskMove struct {
	taskID
	To, From, By, Reason, Agent string
	Token                       uint64
	Retry                       bool
	Result, Output, OutputKey   string
	Error                       string
	ErrorDetails                []byte
	Durability                  engine.Durability
}

var taskMoving = op.New(op.Method{Number: 1254, Name: "Task.Move", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskMove) (record.Doc, error) {
		m := approval.Move{To: a.To, From: a.From, By: a.By, Reason: a.Reason, Agent: a.Agent, Token: a.Token, Retry: a.Retry, Durability: a.Durability,
			Outcome: approval.Outcome{Result: a.Result, Output: a.Output, OutputKey: a.OutputKey, Error: a.Error}}
		if len(a.ErrorDetails) > 0 {
			m.Outcome.ErrorDetails = a.ErrorDetails
		}
		return s.Move(ctx, a.Tenant, a.TaskID, m)
	})

// Move brings a task to another state, and returns it; see [approval.Store.Move].
func (t *Tasks) Move(ctx context.Context, id string, m approval.Move) (record.Doc, error) {
	return caller.Call(ctx, t.c, taskMoving, taskMove{taskID{op.Of(t.tenant), id}, m.To, m.From, m.By, m.Reason, m.Agent, m.Token, m.Retry,
		m.Outcome.Result, m.Outcome.Output, m.Outcome.OutputKey, m.Outcome.Error, m.Outcome.ErrorDetails, m.Durability})
}

// taskAssessment are the arguments of Assess.
type taskAssessment struct {
	taskID
	record.UpdateOptions
	Score   int
	Factors []byte
	By      string
}

var taskAssess = op.New(op.Method{Number: 1255, Name: "Task.Assess", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskAssessment) (record.Doc, error) {
		risk := approval.Assessment{Score: a.Score, By: a.By}
		if len(a.Factors) > 0 {
			risk.Factors = a.Factors
		}
		return s.Assess(ctx, a.Tenant, a.TaskID, risk, a.UpdateOptions)
	})

// Assess notes the risk of a task, and returns it; see [approval.Store.Assess].
func (t *Tasks) Assess(ctx context.Context, id string, a approval.Assessment, o record.UpdateOptions) (record.Doc, error) {
	return caller.Call(ctx, t.c, taskAssess, taskAssessment{taskID{op.Of(t.tenant), id}, o, a.Score, a.Factors, a.By})
}

// taskPreview are the arguments of SetPreview.
type taskPreview struct {
	taskID
	Preview    []byte
	Durability engine.Durability
}

var taskSetPreview = op.New(op.Method{Number: 1256, Name: "Task.SetPreview", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskPreview) (op.Nothing, error) {
		return op.Nothing{}, s.SetPreview(ctx, a.Tenant, a.TaskID, a.Preview, record.WriteOptions{Durability: a.Durability})
	})

// SetPreview notes what a task would do, what preview is as JSON, for seven days; see
// [approval.Store.SetPreview].
func (t *Tasks) SetPreview(ctx context.Context, id string, preview any, d engine.Durability) error {
	text, err := caller.JSONOf(id, preview)
	if err != nil {
		return err
	}
	_, err = caller.Call(ctx, t.c, taskSetPreview, taskPreview{taskID{op.Of(t.tenant), id}, text, d})
	return err
}

var taskGetPreview = op.New(op.Method{Number: 1257, Name: "Task.Preview", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskID) (json.RawMessage, error) {
		return s.Preview(ctx, a.Tenant, a.TaskID)
	})

// Preview returns what a task would do.
func (t *Tasks) Preview(ctx context.Context, id string) (json.RawMessage, error) {
	return caller.Call(ctx, t.c, taskGetPreview, taskID{op.Of(t.tenant), id})
}

var taskTimeOut = op.New(op.Method{Number: 1258, Name: "Task.TimeOut", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskID) (record.Doc, error) {
		return s.TimeOut(ctx, a.Tenant, a.TaskID)
	})

// TimeOut ends the execution of a task, if its time is over, and returns the task; for
// workers of the queue [approval.QueueTaskTimeout].
func (t *Tasks) TimeOut(ctx context.Context, id string) (record.Doc, error) {
	return caller.Call(ctx, t.c, taskTimeOut, taskID{op.Of(t.tenant), id})
}

// taskDeletion are the arguments of Delete.
type taskDeletion struct {
	taskID
	record.UpdateOptions
}

var taskDelete = op.New(op.Method{Number: 1259, Name: "Task.Delete", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskDeletion) (record.Doc, error) {
		return s.DeleteTask(ctx, a.Tenant, a.TaskID, a.UpdateOptions)
	})

// Delete removes a task, and returns what it was; see [approval.Store.DeleteTask].
func (t *Tasks) Delete(ctx context.Context, id string, o record.UpdateOptions) (record.Doc, error) {
	return caller.Call(ctx, t.c, taskDelete, taskDeletion{taskID{op.Of(t.tenant), id}, o})
}

var taskStats = op.New(op.Method{Number: 1260, Name: "Task.Stats", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskID) (json.RawMessage, error) {
		stats, err := s.TaskStats(ctx, a.Tenant, a.TaskID)
		return encoded(stats, err)
	})

// encoded is a value as JSON, unless there is an error.
func encoded(value any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// decoded is the value that an answer is as JSON.
func decoded[T any](m *op.Method, text json.RawMessage, err error) (value T, _ error) {
	if err != nil {
		return value, err
	}
	return value, caller.Odd(m.Name, json.Unmarshal(text, &value))
}

// Stats counts the approvals of a task.
func (t *Tasks) Stats(ctx context.Context, id string) (approval.TaskStats, error) {
	text, err := caller.Call(ctx, t.c, taskStats, taskID{op.Of(t.tenant), id})
	return decoded[approval.TaskStats](&taskStats.Method, text, err)
}

// taskKey are the arguments of Lookup.
type taskKey struct {
	op.OfTenant
	Key string
}

var taskLookup = op.New(op.Method{Number: 1261, Name: "Task.Lookup", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *taskKey) (json.RawMessage, error) {
		return s.Lookup(ctx, a.Tenant, a.Key)
	})

// Lookup returns what a literal key of tasks or approvals stands for; see
// [approval.Store.Lookup].
func (t *Tasks) Lookup(ctx context.Context, key string) (json.RawMessage, error) {
	return caller.Call(ctx, t.c, taskLookup, taskKey{op.Of(t.tenant), key})
}
