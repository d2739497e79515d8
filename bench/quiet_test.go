package bench

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatTheMachineWasBusyWithIsRead(t *testing.T) {
	d, ok := parseBusy([]byte("cpu  100 20 30 4000 500 6 7 8 90 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"))
	require.True(t, ok)
	require.Equal(t, (100+20+30+6+7+8)*tick, d, "idle, waiting and guests are not busy")
	for _, text := range []string{"", "cpu", "cpu 1 2 3 4 5 6 7\n", "intr 1 2 3 4 5 6 7 8 9\n", "cpu 1 2 x 4 5 6 7 8 9\n"} {
		_, ok = parseBusy([]byte(text))
		require.False(t, ok, text)
	}
	if runtime.GOOS == "linux" {
		d, ok = busy()
		require.True(t, ok)
		require.Positive(t, d)
	}
}

func TestOthersAreWhatIsLeftOfTheMachine(t *testing.T) {
	cores := time.Duration(runtime.NumCPU())
	require.Zero(t, others(time.Second, time.Second, time.Second))
	require.Zero(t, others(0, time.Second, time.Second), "where the system does not tell")
	require.Zero(t, others(time.Second+tick, time.Second, time.Second), "clocks tick")
	require.InDelta(t, 0.5, others(time.Second+cores*time.Second, time.Second, 2*time.Second), 1e-9)
}

// A report of a machine that was not quiet says so before its figures, which begin with what
// does not depend on that.
func TestAReportSaysWhetherTheMachineWasQuiet(t *testing.T) {
	text := func(share float64) string {
		r := Report{Results: []Result{{Workload: "get", Measures: []Measure{{Subject: "a"}, {Subject: "b", Others: share}}}}}
		var w strings.Builder
		require.NoError(t, r.WriteText(&w))
		before, table, _ := strings.Cut(w.String(), "workload")
		require.Less(t, strings.Index(table, "cpu µs"), strings.Index(table, "wall µs"))
		return before
	}
	require.NotContains(t, text(0), "others")
	require.Contains(t, text(0.03), "others took at most 3 %")
	require.Contains(t, text(0.2), "NOT QUIET: others took up to 20 % of the processors in a turn (get of b)")
}
