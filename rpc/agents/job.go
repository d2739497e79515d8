package agents

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	_ "github.com/stoadb/stoa/rpc/internal/jobwire" // says how jobs go over the wire
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Jobs are the queues of a tenant's jobs; see package job. Beside the errors of calls methods
// return [*job.Error]. Times that last or are waited for count in milliseconds, of which a part
// is one. It is a view of its client, and as safe for concurrent use.
//
// What makes jobs and shows them is in this file, what workers do in jobwork.go.
type Jobs struct {
	c      caller.Caller
	tenant string
}

// NewJobs returns the queues of a tenant; "" is the tenant that the daemon binds this user to.
func NewJobs(c caller.Caller, tenant string) *Jobs { return &Jobs{c, tenant} }

// jobScheduling are the arguments of Schedule.
type jobScheduling struct {
	op.OfTenant
	job.Job
	Durability engine.Durability
}

var jobSchedule = op.New(op.Method{Number: 1101, Name: "Job.Schedule", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobScheduling) (op.Nothing, error) {
		q, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, q.Put(ctx, a.Durability, a.Job)
	})

// Schedule makes a job that is done when it is due, in place of one of its id; see
// [job.Queues.Schedule].
func (j *Jobs) Schedule(ctx context.Context, d engine.Durability, what job.Job) error {
	_, err := caller.Call(ctx, j.c, jobSchedule, jobScheduling{op.Of(j.tenant), what, d})
	return err
}

// jobEnqueuing are the arguments of Enqueue.
type jobEnqueuing struct {
	op.OfTenant
	ID, Queue   string
	Payload     json.RawMessage
	MaxAttempts int
	Durability  engine.Durability
}

// jobEnqueued is what Enqueue returns.
type jobEnqueued struct {
	ID   string
	Made bool
}

var jobEnqueue = op.New(op.Method{Number: 1102, Name: "Job.Enqueue", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobEnqueuing) (e jobEnqueued, err error) {
		q, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return e, err
		}
		e.ID, e.Made, err = q.Add(ctx, a.Durability, job.Job{ID: a.ID, Queue: a.Queue, Payload: a.Payload, MaxAttempts: a.MaxAttempts})
		return e, err
	})

// Enqueue makes a job that is due at once, unless there is one of its id, and returns the id,
// which is made for one that has none, and whether the job was; see [job.Queues.Enqueue].
func (j *Jobs) Enqueue(ctx context.Context, d engine.Durability, what job.Job) (id string, made bool, err error) {
	if !what.Due.IsZero() {
		return "", false, &job.Error{Code: job.CodeInvalidArgument, Field: "due", Reason: "a job that is enqueued is due at once: schedule it"}
	}
	e, err := caller.Call(ctx, j.c, jobEnqueue, jobEnqueuing{op.Of(j.tenant), what.ID, what.Queue, what.Payload, what.MaxAttempts, d})
	return e.ID, e.Made, err
}

// jobNamed are arguments that change a job.
type jobNamed struct {
	op.OfTenant
	ID         string
	Durability engine.Durability
}

var jobCancel = op.New(op.Method{Number: 1103, Name: "Job.Cancel", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobNamed) (existed bool, err error) {
		q, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return false, err
		}
		return q.Remove(ctx, a.Durability, a.ID)
	})

// Cancel removes a job, whatever its state, and says whether there was one; see
// [job.Queues.Cancel].
func (j *Jobs) Cancel(ctx context.Context, d engine.Durability, id string) (existed bool, err error) {
	return caller.Call(ctx, j.c, jobCancel, jobNamed{op.Of(j.tenant), id, d})
}

var jobRetry = op.New(op.Method{Number: 1108, Name: "Job.Retry", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobNamed) (dead bool, err error) {
		q, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return false, err
		}
		return q.Retry(ctx, a.Durability, a.ID)
	})

// Retry has a dead job tried again, and says whether it was dead; see [job.Queues.Retry].
func (j *Jobs) Retry(ctx context.Context, d engine.Durability, id string) (dead bool, err error) {
	return caller.Call(ctx, j.c, jobRetry, jobNamed{op.Of(j.tenant), id, d})
}

// jobID are the arguments of Get.
type jobID struct {
	op.OfTenant
	ID string
}

var jobGet = op.New(op.Method{Number: 1109, Name: "Job.Get", Role: access.Reader, Tenant: true, Short: true},
	func(_ context.Context, s *job.Store, a *jobID) (job.Info, error) {
		q, err := s.Find(a.Tenant)
		if err != nil {
			return job.Info{}, err
		}
		return q.Get(a.ID)
	})

// Get returns a job, or job.ErrNotFound: one that is done is not there any more.
func (j *Jobs) Get(ctx context.Context, id string) (job.Info, error) {
	return caller.Call(ctx, j.c, jobGet, jobID{op.Of(j.tenant), id})
}

// jobListing are the arguments of List.
type jobListing struct {
	op.OfTenant
	job.ListOptions
}

// jobPage is what List returns.
type jobPage struct {
	Jobs []job.Info
	Next string
}

var jobList = op.New(op.Method{Number: 1110, Name: "Job.List", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobListing) (p jobPage, err error) {
		q, err := s.Find(a.Tenant)
		if err != nil {
			return p, err
		}
		p.Jobs, p.Next, err = q.List(ctx, a.ListOptions)
		return p, err
	})

// List returns a page of the jobs of a queue in a state, and the cursor of the next; see
// [job.Queues.List]. Who reads all takes [Jobs.All].
func (j *Jobs) List(ctx context.Context, o job.ListOptions) (list []job.Info, next string, err error) {
	p, err := caller.Call(ctx, j.c, jobList, jobListing{op.Of(j.tenant), o})
	return p.Jobs, p.Next, err
}

// All yields the jobs of a queue in a state, page by page: from the cursor on, and Limit of
// them at most, all if that is 0. Those that come and go meanwhile may be missed.
func (j *Jobs) All(ctx context.Context, o job.ListOptions) iter.Seq2[job.Info, error] {
	return caller.Pagewise(jobList.Name, o.Limit, o.Cursor, func(cursor string, most int) ([]job.Info, string, error) {
		o.Cursor, o.Limit = cursor, most
		return j.List(ctx, o)
	})
}

// jobKey are the arguments of Lookup.
type jobKey struct {
	op.OfTenant
	Key string
}

var jobLookup = op.New(op.Method{Number: 1111, Name: "Job.Lookup", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobKey) (json.RawMessage, error) {
		return s.Lookup(ctx, a.Tenant, a.Key)
	})

// Lookup returns what a literal key stands for; see [job.Store.Lookup].
func (j *Jobs) Lookup(ctx context.Context, key string) (json.RawMessage, error) {
	return caller.Call(ctx, j.c, jobLookup, jobKey{op.Of(j.tenant), key})
}
