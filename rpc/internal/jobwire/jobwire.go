// Package jobwire says how what package job has goes into messages of the Job service, for
// both ends.
package jobwire

import (
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/rpc/internal/op"
)

var (
	_ = op.Tags[job.Job]("Due", "due_ms")
	_ = op.Tags[job.Info]("Made", "made_ms", "Until", "until_ms")
	_ = op.Tags[job.LeaseOptions]("For", "for_ms", "Wait", "wait_ms")
)
