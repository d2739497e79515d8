// Package job is five named queues of work for a tenant: jobs that are due at once or at a
// time, each of which one worker does at a time, under a lease.
//
// [New] makes a [Store] of a kv.Store; [Store.Open] gives the [Queues] of a tenant.
// [Queues.Schedule] and [Queues.Enqueue] add a [Job], within the batch of the change that
// asks for it. [Queues.Lease] gives the first of a queue to a worker, with a token that
// [Queues.Extend], [Queues.Complete] and [Queues.Fail] are fenced by: what is not done while
// its lease lasts goes to the next worker. [Options.Workers] are those that a process has
// itself. [Store.Lookup] shows queues by their literal keys.
//
// A job is one record, which change.go changes, with one timer of package kv: when it is due, or
// its lease is over. README.md has the rules and the bytes.
package job

import "time"

// Limits.
const (
	MaxID         = 256       // bytes of a job's id
	MaxWorker     = 128       // bytes of a worker's name
	MaxPayload    = 64 << 10  // bytes
	MaxFailure    = 1024      // bytes of why a job failed
	MaxAttempts   = 100       // leases that a job can be given before it is dead
	MaxBatch      = 100       // jobs that are leased at once
	MaxLease      = time.Hour // from a lease, or from when it is extended, on
	MinLease      = time.Millisecond
	MaxDelay      = 30 * 24 * time.Hour // until a job that failed is due again
	MaxWait       = 5 * time.Minute     // of a worker that waits for a job
	MaxJobs       = 1_000_000           // of a tenant, unless its quota says otherwise
	DeadFor       = 30 * 24 * time.Hour // a dead job is kept, unless it is tried again
	PlainLease    = 30 * time.Second    // of a worker that does not say how long
	PlainAttempts = 5                   // of a job that does not say how many

	queueSpace = "job" // the space of a tenant's jobs
)

// The queues of a tenant.
const (
	LockCleanup     = "lock_cleanup"
	ApprovalTimeout = "approval_timeout"
	TaskTimeout     = "task_timeout"
	DeadlockDetect  = "deadlock_detect"
	Archive         = "archive"
)

// QueueNames are the queues that every tenant has. Their places in the list are stored: it
// only grows.
func QueueNames() []string {
	return []string{LockCleanup, ApprovalTimeout, TaskTimeout, DeadlockDetect, Archive}
}
