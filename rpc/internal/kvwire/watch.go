package kvwire

import (
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// CheckAfter refuses a revision to begin after where a watch begins elsewhere.
func CheckAfter(start kv.WatchStart, after uint64) error {
	if after != 0 && start != kv.FromRevision {
		return &op.FieldError{Field: "after", Reason: "it goes with KV_WATCH_START_REVISION only"}
	}
	return nil
}
