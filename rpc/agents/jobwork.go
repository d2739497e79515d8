package agents

import (
	"context"
	"iter"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// jobLeasing are the arguments of Lease.
type jobLeasing struct {
	op.OfTenant
	job.LeaseOptions
}

var jobLease = op.NewStream(op.Method{Number: 1104, Name: "Job.Lease", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobLeasing) iter.Seq2[job.Info, error] {
		q, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return each[job.Info](nil, err)
		}
		return each(q.Lease(ctx, a.LeaseOptions))
	}, func(i *job.Info) int { return 256 + len(i.ID) + len(i.Payload) + len(i.Failure) }, op.StreamQueue)

// Lease gives a worker the first jobs of a queue, and waits for some where there are none:
// none, if none came; see [job.Queues.Lease]. Those that a client does not hear of, whose
// connection is lost, are another's once the lease is over.
func (j *Jobs) Lease(ctx context.Context, o job.LeaseOptions) ([]job.Info, error) {
	return once(caller.Stream(ctx, j.c, jobLease, jobLeasing{op.Of(j.tenant), o}))
}

// jobLeased are arguments about a lease.
type jobLeased struct {
	op.OfTenant
	ID         string
	Token      uint64
	Durability engine.Durability
}

// jobExtending are the arguments of Extend.
type jobExtending struct {
	jobLeased
	For time.Duration `wire:"for_ms"`
}

var jobExtend = op.New(op.Method{Number: 1105, Name: "Job.Extend", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobExtending) (until time.Time, err error) {
		q, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return until, err
		}
		return q.Extend(ctx, a.Durability, a.ID, a.Token, a.For)
	})

// Extend has a lease last for a time from now on, and returns when it is over; see
// [job.Queues.Extend].
func (j *Jobs) Extend(ctx context.Context, d engine.Durability, id string, token uint64, last time.Duration) (until time.Time, err error) {
	return caller.Call(ctx, j.c, jobExtend, jobExtending{jobLeased{op.Of(j.tenant), id, token, d}, last})
}

var jobComplete = op.New(op.Method{Number: 1106, Name: "Job.Complete", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobLeased) (op.Nothing, error) {
		q, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, q.Done(ctx, a.Durability, a.ID, a.Token)
	})

// Complete removes a job that is done. It returns job.ErrFenced unless the lease of the token
// lasts; see [job.Queues.Complete].
func (j *Jobs) Complete(ctx context.Context, d engine.Durability, id string, token uint64) error {
	_, err := caller.Call(ctx, j.c, jobComplete, jobLeased{op.Of(j.tenant), id, token, d})
	return err
}

// jobFailing are the arguments of Fail.
type jobFailing struct {
	jobLeased
	Failure string
	Delay   time.Duration `wire:"delay_ms"`
}

var jobFail = op.New(op.Method{Number: 1107, Name: "Job.Fail", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *job.Store, a *jobFailing) (dead bool, err error) {
		q, err := s.Open(ctx, a.Tenant)
		if err != nil {
			return false, err
		}
		return q.Fail(ctx, a.Durability, a.ID, a.Token, a.Failure, a.Delay)
	})

// Fail ends a lease whose worker could not do the job, which is due again after a delay, and
// says whether this was the last of its attempts; see [job.Queues.Fail].
func (j *Jobs) Fail(ctx context.Context, d engine.Durability, id string, token uint64, failure string, delay time.Duration) (dead bool, err error) {
	return caller.Call(ctx, j.c, jobFail, jobFailing{jobLeased{op.Of(j.tenant), id, token, d}, failure, delay})
}
