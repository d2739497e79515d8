package policy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/policy/policytest"
)

func TestEveryRowHasItsTest(t *testing.T) {
	listed := kvtest.Rows(t, policytest.Rows(), "*_test.go", "condition/*_test.go")
	for n := 1; n <= 93; n++ {
		require.Contains(t, listed, fmt.Sprint("B", n))
	}
}
