package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNounsAreCounted(t *testing.T) {
	for want, got := range map[string]string{"1 entry": Count(1, "entry"), "3 entries": Count(3, "entry"), "2 keys": Count(2, "key"), "2 batches": Count(2, "batch"), "0 ops": Count(0, "op")} {
		require.Equal(t, want, got)
	}
}
