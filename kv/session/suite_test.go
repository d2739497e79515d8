package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/session/sessiontest"
)

func TestRows(t *testing.T) { sessiontest.Run(t, sessiontest.InProcess) }

func TestEveryRowHasItsTest(t *testing.T) {
	listed := kvtest.Rows(t, sessiontest.Rows(), "*_test.go", "../../cmd/stoa/internal/daemon/*_test.go")
	for _, row := range []string{"A1", "A2", "A72", "A73", "A93"} {
		require.Contains(t, listed, row)
	}
}
