package lock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

func TestEveryRowHasItsTest(t *testing.T) {
	listed := kvtest.Rows(t, locktest.Rows(), "*_test.go", "../../cmd/stoa/internal/daemon/*_test.go")
	for n := 1; n <= 41; n++ {
		require.Contains(t, listed, fmt.Sprint("A", n))
	}
	require.Contains(t, listed, "A83")
}
