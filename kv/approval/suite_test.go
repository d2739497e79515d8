package approval_test

import (
	"testing"

	"github.com/stoadb/stoa/kv/approval/approvaltest"
)

func TestRows(t *testing.T) { approvaltest.Run(t, approvaltest.InProcess) }
