package contract

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/kvtest"
)

func TestEveryRowHasItsTest(t *testing.T) {
	listed := kvtest.Rows(t, nil, "*_test.go")
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29, 32} {
		require.Contains(t, listed, fmt.Sprint("T", n))
	}
}
