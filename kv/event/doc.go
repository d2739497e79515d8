// Package event is the streams in which a tenant's tasks, approvals and locks tell what
// happens to them, and the groups of consumers that read them.
//
// [New] makes a [Store] of a kv.Store; [Store.Open] gives the [Feed] of a tenant.
// [Feed.Append] adds an event in the batch of the change that it tells, [Feed.Publish] adds
// some by themselves. [Feed.Range], [Feed.Read] and [Feed.Follow] read a stream, [Feed.ReadGroup]
// reads it as a consumer of a group, which acknowledges what it has done with. [Store.Lookup]
// shows a stream by its literal key.
//
// Streams and groups are those of package kv; here are what an entry is, its [ID], and how
// long it is kept. README.md has the rules and the bytes.
package event

import "time"

// Limits.
const (
	Kept        = 10_000              // entries of a stream, the newest
	KeptFor     = 7 * 24 * time.Hour  // of an entry, if it is among them
	MaxName     = 128                 // bytes of an event's name, of a group's and of a consumer's
	MaxSource   = 128                 // bytes
	MaxPayload  = 64 << 10            // bytes
	MaxBatch    = 1000                // events that are added, delivered, claimed or acknowledged at once
	MaxGroups   = 100                 // of a stream, those included that each stream has
	MaxPending  = 10_000              // entries of a group that nobody has acknowledged
	MaxWait     = 5 * time.Minute     // of a read that waits
	MaxIdle     = 30 * 24 * time.Hour // that a claim can ask for
	plainLimit  = 100                 // entries of a read that says no limit
	streamSpace = "event"             // the space of a tenant's streams
)

// The streams of a tenant.
const (
	Task     = "task"
	Approval = "approval"
	Lock     = "lock"
)

// Streams are the streams that every tenant has.
func Streams() []string { return []string{Task, Approval, Lock} }

// Groups are the groups that every stream has.
func Groups() []string {
	return []string{"analytics-pipeline", "audit-logger", "notification-service", "webhook-dispatcher"}
}
