// Package limitwire says how what package limit has goes into messages of the Limit service,
// for both ends.
package limitwire

import (
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/rpc/internal/op"
)

var (
	_ = op.Tags[limit.Verdict]("RetryAfter", "retry_after_ms")
	_ = op.Tags[limit.Rule]("Window", "window_ms")
	_ = op.Tags[limit.Limit]("Oldest", "oldest_ms", "Newest", "newest_ms")
)
