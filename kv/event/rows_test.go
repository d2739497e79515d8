package event

import (
	"testing"

	"github.com/stoadb/stoa/kv/kvtest"
)

// README.md lists rows with their tests; each is there, and has the row's number in its
// name.
func TestEveryListedRowHasItsTest(t *testing.T) {
	kvtest.Rows(t, nil, "*_test.go", "../../cmd/stoa/internal/daemon/*_test.go", "../../rpc/server/event_test.go")
}
