package stream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/kvtest"
)

// README.md lists rows with their tests; each is there, and has the row's number in its
// name.
func TestEveryListedRowHasItsTest(t *testing.T) {
	require.Len(t, kvtest.Rows(t, nil, "*_test.go"), 5) // T66 to T69, and those without a number
}
