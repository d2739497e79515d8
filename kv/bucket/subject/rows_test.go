package subject

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/kvtest"
)

// README.md lists rows with their tests; each is there, and has the row's number in its
// name.
func TestEveryListedRowHasItsTest(t *testing.T) {
	require.Len(t, kvtest.Rows(t, nil, "*_test.go"), 9) // T50 to T53, T55 to T57, T61, and those without a number
}
