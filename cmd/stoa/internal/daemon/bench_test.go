package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsTypedGoesBeforeQuick(t *testing.T) {
	f := benchFlags{}
	f.options.Rows, f.options.Slice = 1000, time.Second
	f.quicken(func(flag string) bool { return flag == "rows" })
	require.Equal(t, 1000, f.options.Rows)
	require.Equal(t, 200*time.Millisecond, f.options.Slice)
	f.quicken(func(string) bool { return false })
	require.Equal(t, 100_000, f.options.Rows)
}
