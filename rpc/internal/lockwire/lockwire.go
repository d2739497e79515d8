// Package lockwire says how what package lock has goes into messages of the Lock service,
// for both ends.
package lockwire

import (
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/internal/op"
	_ "github.com/stoadb/stoa/rpc/internal/policywire" // carries times
)

var _ = op.Tags[lock.Grant]("Acquired", "acquired_ms", "Expires", "expires_ms", "Until", "until_ms")
