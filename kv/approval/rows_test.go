package approval_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/approval/approvaltest"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestEveryRowHasItsTest(t *testing.T) {
	listed := kvtest.Rows(t, approvaltest.Rows(), "*_test.go", "../../cmd/stoa/internal/daemon/*_test.go")
	for n := 42; n <= 71; n++ {
		require.Contains(t, listed, fmt.Sprint("A", n))
	}
	require.Contains(t, listed, "A83")
	require.Contains(t, listed, "A90")
}
