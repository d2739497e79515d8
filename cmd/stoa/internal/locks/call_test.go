package locks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/lock"
)

// A process has a name that an agent may have, whatever its user and host are called, and
// another than other processes.
func TestAProcessIsAnAgent(t *testing.T) {
	require.Equal(t, "ann@laptop:4711", agentName("ann", "laptop", 4711))
	for _, user := range []string{"", "{ann}", "a\x00b", "\xff", strings.Repeat("ä", 200)} {
		name := agentName(user, "laptop", 4711)
		require.LessOrEqual(t, len(name), lock.MaxAgent)
		require.True(t, strings.HasSuffix(name, ":4711"), name)
		_, _, err := lock.ParseName(lock.Task(name)) // has the same rules for what can't be shown
		require.NoError(t, err)
	}
}
