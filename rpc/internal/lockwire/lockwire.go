// Package lockwire says how what package lock has goes into messages of the Lock service,
// for both ends.
package lockwire

import (
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/internal/op"
)

var (
	_ = op.Tags[lock.Grant]("Acquired", "acquired_ms", "Expires", "expires_ms", "Until", "until_ms")
	_ = op.Tags[lock.Waiting]("Since", "since_ms", "MaxWait", "max_wait_ms")
	_ = op.Tags[lock.Event]("At", "at_ms")
	_ = op.Tags[lock.Agent]("Heard", "heard_ms")
)
