// Package approval is tasks, who has to approve them, and what came of applying them.
//
// [New] makes a [Store] of a kv.Store, to whose records it adds its collections. A task comes by
// [Store.CreateTask], goes from state to state by [Store.Move], and asks people by [Store.Request];
// they answer by [Store.Respond], or have others asked by [Store.Delegate], until [Store.Escalate] does
// what their silence was said to mean. Each of them writes one batch: the records, the events that
// tell of it, and the jobs that come back to it.
//
// Nothing is kept beside the records: queues are indexes of them, and statistics are counted when they
// are asked for. README.md has the rules.
package approval

import "time"

// Limits.
const (
	MaxApprovals   = 100      // of a round of a task's review
	MaxChain       = 10       // those whom one approval is delegated to, one after the other
	MaxBatch       = 100      // answers of one call
	MaxOutput      = 16 << 10 // bytes of an execution's output that stay in the task
	MaxReason      = 4096     // bytes of the reason of an answer
	MaxListed      = 10_000   // members that a literal key shows
	maxPolicies    = 256      // delegation policies of one user that a request looks at
	minimalTimeout = time.Second
)
