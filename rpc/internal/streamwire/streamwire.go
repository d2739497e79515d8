// Package streamwire says how what package stream has goes into messages of the Stream service,
// for both ends.
package streamwire

import (
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc/internal/op"
)

var (
	_ = op.Tags[kv.StreamLimits]("Age", "age_ms")
	_ = op.Tags[stream.Info]("Created", "created_ms", "Newest", "newest_ms")
	_ = op.Tags[stream.Entry]("Time", "time_ms")
	_ = op.Tags[stream.DeadLetter]("Died", "died_ms")
	_ = op.Tags[stream.Config]("AckWait", "ack_wait_ms")
	_ = op.Tags[stream.ConsumerInfo]("Created", "created_ms")
	_ = op.Tags[stream.FetchOptions]("Wait", "wait_ms")
)
