// Package approvalwire says how what package approval has goes into messages of the services
// Task and Approval, for both ends.
package approvalwire

import (
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/rpc/internal/op"
	_ "github.com/stoadb/stoa/rpc/internal/recordwire" // carries records
)

var _ = op.Tags[approval.Answer]("Approval", "approval_id")
