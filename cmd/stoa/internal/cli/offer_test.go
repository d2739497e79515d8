package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/dag"
)

func TestALineThatIsLongerThanADeltaIsNamed(t *testing.T) {
	text := "00\n\n" + strings.Repeat("0", 2*dag.MaxDelta+128)
	in := newOfferFiles(strings.NewReader(text), "delta", []string{"-"})
	n := 0
	for range in.all() {
		n++
	}
	require.Equal(t, 1, n)
	require.EqualError(t, in.failure(), "-: line 3: longer than the hex of 4194304 bytes, the most that a delta or an op has")
}
