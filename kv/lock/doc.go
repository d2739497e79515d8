// Package lock is locks with fencing tokens for agents that share work: exclusive locks of
// tasks, shared and exclusive ones of resources, queues, capacity of agents.
//
// [New] makes a [Store] of a kv.Store. [Store.Acquire] takes a lock, or waits for it in the lock's queue;
// the [Grant] has a token that is greater than that of every grant before. [Store.Renew], [Store.Release],
// [Store.Downgrade] and [Store.ReleaseAll] are the holder's. A [Guard] makes any other write of the
// tenant fail once its token is not that of a holder any more.
//
// What is stored of a lock is one record, which turn (turn.go) changes; who waits is in memory
// (queue.go), since it lives as long as its call. README.md has the rules and the bytes.
package lock

import "time"

// Limits.
const (
	MaxName     = 512                // bytes of a lock's name
	MaxType     = 128                // bytes of the type of a resource
	MaxAgent    = 128                // bytes of an agent's name
	MaxPurpose  = 256                // bytes
	MaxHolders  = 100                // agents that share a lock
	MaxTasks    = 256                // tasks of an agent at once, where it says how many
	MaxQueue    = 1000               // who waits for one lock
	MaxWaits    = 100                // locks that one agent waits for
	MaxWaiters  = 10_000             // waits of a tenant
	MaxChain    = 1024               // locks that are looked at to see whether who waits waits for itself
	MaxAll      = 8192               // locks that one ReleaseAll frees
	MaxAgents   = 1000               // agents of a page
	MaxWait     = 24 * time.Hour     // of a request that says how long it waits
	PlainWait   = 5 * time.Minute    // of a request that waits and does not say how long
	MaxTTL      = 7 * 24 * time.Hour // that a configuration can allow
	MinTTL      = time.Millisecond   // of a lock
	TopPriority = 100                // of a request
)
