package rpc

import (
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/kv/setting"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc/agents"
)

// What agents coordinate by has its clients in package agents; here are the ways to them,
// and what their calls take and return, so that a program imports one package.

// Locks are the locks of a tenant; see [agents.Locks].
type Locks = agents.Locks

// Locks returns the locks of a tenant; "" is the tenant that the daemon binds this user to.
func (c *Client) Locks(tenant string) *Locks { return agents.NewLocks((*calling)(c), tenant) }

// What calls of [Locks] take and return.
type (
	// LockRequest is what a lock is asked for with.
	LockRequest = lock.Request
	// LockGrant is that an agent holds a lock.
	LockGrant = lock.Grant
	// LockHolding names what an agent holds.
	LockHolding = lock.Holding
	// Lock is what is known of a lock.
	Lock = lock.Lock
	// LockGuard is that a lock is held by the grant that has a token.
	LockGuard = lock.Guard
	// LockListOptions say which page of locks is asked for.
	LockListOptions = lock.ListOptions
	// LockPage is a page of locks.
	LockPage = lock.Page
	// LockWaiting is a request that waits.
	LockWaiting = lock.Waiting
	// LockWatchOptions say which locks are watched, from where on.
	LockWatchOptions = lock.WatchOptions
	// LockEvent is something that has happened to a lock.
	LockEvent = lock.Event
	// LockAgent is an agent that is registered.
	LockAgent = lock.Agent
	// LockAgentOptions say which page of agents is asked for.
	LockAgentOptions = lock.AgentOptions
	// LockAgentPage is a page of agents.
	LockAgentPage = lock.AgentPage
)

// Tasks are the tasks of a tenant; see [agents.Tasks].
type Tasks = agents.Tasks

// Tasks returns the tasks of a tenant; "" is the tenant that the daemon binds this user to.
func (c *Client) Tasks(tenant string) *Tasks { return agents.NewTasks((*calling)(c), tenant) }

// Approvals are what people of a tenant are asked; see [agents.Approvals].
type Approvals = agents.Approvals

// Approvals returns what people of a tenant are asked; "" is the tenant that the daemon binds
// this user to.
func (c *Client) Approvals(tenant string) *Approvals {
	return agents.NewApprovals((*calling)(c), tenant)
}

// What calls of [Tasks] and [Approvals] take and return.
type (
	// TaskMove is a transition of a task.
	TaskMove = approval.Move
	// TaskOutcome is what has come of applying a task.
	TaskOutcome = approval.Outcome
	// TaskRisk says how dangerous a task is.
	TaskRisk = approval.Assessment
	// TaskStats are the approvals of a task.
	TaskStats = approval.TaskStats
	// ApprovalAsking is who is asked about a task.
	ApprovalAsking = approval.Asking
	// ApprovalAnswer is what somebody answers.
	ApprovalAnswer = approval.Answer
	// ApprovalDelegation has somebody else asked.
	ApprovalDelegation = approval.Delegation
	// ApprovalStats are the approvals of a user.
	ApprovalStats = approval.UserStats
)

// Sessions are that users of a tenant are signed in; see [agents.Sessions].
type Sessions = agents.Sessions

// Sessions returns the sessions of a tenant; "" is the tenant that the daemon binds this user
// to.
func (c *Client) Sessions(tenant string) *Sessions {
	return agents.NewSessions((*calling)(c), tenant)
}

// SessionsImported is what an import of [Sessions] came to.
type SessionsImported = session.Imported

// Limits are the rate limits of a tenant; see [agents.Limits].
type Limits = agents.Limits

// Limits returns the rate limits of a tenant; "" is the tenant that the daemon binds this user
// to.
func (c *Client) Limits(tenant string) *Limits { return agents.NewLimits((*calling)(c), tenant) }

// What calls of [Limits] take and return.
type (
	// LimitName is what is limited: one user at one endpoint.
	LimitName = limit.Name
	// LimitRule is how often something may be done.
	LimitRule = limit.Rule
	// LimitVerdict is whether it may be done now.
	LimitVerdict = limit.Verdict
	// Limit is what is known of a limit.
	Limit = limit.Limit
	// LimitListOptions say which page of limits is asked for.
	LimitListOptions = limit.ListOptions
)

// Settings are the configuration and the features of a tenant; see [agents.Settings].
type Settings = agents.Settings

// Settings returns the settings of a tenant; "" is the tenant that the daemon binds this user
// to.
func (c *Client) Settings(tenant string) *Settings {
	return agents.NewSettings((*calling)(c), tenant)
}

// What calls of [Settings] return.
type (
	// Setting is what a setting of a tenant is.
	Setting = setting.Setting
	// SettingEvent is what a watcher of settings is told.
	SettingEvent = setting.Event
)

// Events are the streams of a tenant; see [agents.Events].
type Events = agents.Events

// Events returns the streams of a tenant; "" is the tenant that the daemon binds this user to.
func (c *Client) Events(tenant string) *Events { return agents.NewEvents((*calling)(c), tenant) }

// What calls of [Events] take and return.
type (
	// EventNew is what is told of a change.
	EventNew = event.Event
	// EventID is the id of an entry.
	EventID = event.ID
	// EventEntry is an event in its stream.
	EventEntry = event.Entry
	// EventInfo is what is known of a stream.
	EventInfo = event.Info
	// EventRangeOptions say what a range has.
	EventRangeOptions = event.RangeOptions
	// EventReadOptions say what a read has.
	EventReadOptions = event.ReadOptions
	// EventPlace is where a group begins, or who follows a stream.
	EventPlace = event.Place
	// EventGroup is what is known of a group.
	EventGroup = event.Group
	// EventConsumer is one of a group of a stream.
	EventConsumer = event.Consumer
	// EventPending is an entry that a consumer has and has not acknowledged.
	EventPending = event.Pending
	// EventClaimOptions say which pending entries are claimed.
	EventClaimOptions = event.ClaimOptions
)

// Jobs are the queues of a tenant's jobs; see [agents.Jobs].
type Jobs = agents.Jobs

// Jobs returns the queues of a tenant; "" is the tenant that the daemon binds this user to.
func (c *Client) Jobs(tenant string) *Jobs { return agents.NewJobs((*calling)(c), tenant) }

// What calls of [Jobs] take and return.
type (
	// Job is something that a worker of a queue is to do.
	Job = job.Job
	// JobInfo is a job with what has happened to it.
	JobInfo = job.Info
	// JobState is where a job is.
	JobState = job.State
	// JobListOptions say which jobs a list has.
	JobListOptions = job.ListOptions
	// JobLeaseOptions say which jobs a worker is given.
	JobLeaseOptions = job.LeaseOptions
)

// Streams are the named streams of a tenant; see [agents.Streams].
type Streams = agents.Streams

// Streams returns the streams of a tenant; "" is the tenant that the daemon binds this user to.
func (c *Client) Streams(tenant string) *Streams { return agents.NewStreams((*calling)(c), tenant) }

// What calls of [Streams] take and return.
type (
	// StreamConsumer is a durable consumer of a stream.
	StreamConsumer = agents.StreamConsumer
	// StreamLimits are what a stream keeps.
	StreamLimits = kv.StreamLimits
	// StreamInfo is what is known of a stream.
	StreamInfo = stream.Info
	// StreamMessage is what is added to a stream.
	StreamMessage = stream.Message
	// StreamAppendOptions say where that is.
	StreamAppendOptions = stream.AppendOptions
	// StreamEntry is a message in its stream.
	StreamEntry = stream.Entry
	// StreamRangeOptions say what a range has.
	StreamRangeOptions = stream.RangeOptions
	// StreamConfig is what a consumer is.
	StreamConfig = stream.Config
	// StreamStart is where in a stream a consumer begins.
	StreamStart = stream.Start
	// StreamConsumerInfo is what is known of a consumer.
	StreamConsumerInfo = stream.ConsumerInfo
	// StreamFetchOptions say what a fetch delivers.
	StreamFetchOptions = stream.FetchOptions
	// StreamDelivery is an entry that a caller has.
	StreamDelivery = stream.Delivery
	// StreamRef is a delivery, to who says what came of it.
	StreamRef = stream.Ref
	// StreamDeadLetter is an entry that a consumer does not deliver any more.
	StreamDeadLetter = stream.DeadLetter
)

// Buckets are the buckets of a tenant; see [agents.Buckets].
type Buckets = agents.Buckets

// Buckets returns the buckets of a tenant; "" is the tenant that the daemon binds this user to.
func (c *Client) Buckets(tenant string) *Buckets { return agents.NewBuckets((*calling)(c), tenant) }

// What calls of [Buckets] take and return.
type (
	// Bucket is a bucket of key-values.
	Bucket = agents.Bucket
	// BucketConfig is what a bucket is to be.
	BucketConfig = bucket.Config
	// BucketInfo is what is known of a bucket.
	BucketInfo = bucket.Info
	// BucketStatus is what a bucket is and has.
	BucketStatus = bucket.Status
	// BucketEntry is a revision of a key.
	BucketEntry = bucket.Entry
	// BucketChange is what a batch does to a key; see [StreamConsumer.Apply].
	BucketChange = bucket.Change
	// BucketPutOptions are how a value is put.
	BucketPutOptions = bucket.PutOptions
	// BucketMergeOptions are how a value is changed in part.
	BucketMergeOptions = bucket.MergeOptions
	// BucketDeleteOptions are how a key is deleted, or purged.
	BucketDeleteOptions = bucket.DeleteOptions
	// BucketWatchOptions say what a watch tells.
	BucketWatchOptions = bucket.WatchOptions
	// BucketEvent is something that a watch tells.
	BucketEvent = bucket.Event
	// BucketAuthority is what a tenant has agreed with a service.
	BucketAuthority = bucket.Authority
	// BucketProposal is a contract that waits, and what accepting it changes.
	BucketProposal = bucket.Proposal
	// BucketsReconciled is what a reconciliation has done.
	BucketsReconciled = bucket.Reconciled
)

// OpenBucket returns a bucket as one whose values are those of a type, as JSON.
func OpenBucket[T any](b *Bucket) agents.TypedBucket[T] { return agents.OpenBucket[T](b) }
