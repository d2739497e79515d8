package policy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/kvtest"
)

// README.md lists rows with their tests; those that are about records of any collection
// are in that of record.
func TestEveryListedRowHasItsTest(t *testing.T) {
	listed := kvtest.Rows(t, "*_test.go", "condition/*_test.go")
	for n := 1; n <= 93; n++ {
		if n != 2 && n != 4 && n != 15 {
			require.Contains(t, listed, fmt.Sprint("B", n))
		}
	}
}
