package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
)

// Every moment of a verification belongs to a phase that the split lists.
func TestTheSplitOfAFullVerificationIsAllOfItsTime(t *testing.T) {
	e := mem.New()
	defer e.Close()
	withContexts(t, e, 20, 100)
	start := time.Unix(0, 0)
	now := start
	tick := func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	steps := map[string]bool{}
	v, err := Verify(t.Context(), From(e, Facts{}), VerifyOptions{Full: true, Now: tick, Step: func(what string, done, all uint64) {
		steps[what] = true
		require.LessOrEqual(t, done, all)
	}}, func(f Finding) error { return nil })
	require.NoError(t, err)
	require.Empty(t, v.Codes)
	var names []string
	sum := 0.0
	for _, s := range v.Split {
		names = append(names, s.Phase)
		sum += s.Seconds
	}
	require.Equal(t, now.Add(-time.Second).Sub(start).Seconds(), sum)
	require.Equal(t, phases, names)
	for _, what := range []string{phaseTables, "rows of State", phaseTrie, phaseDeltas, phaseReplay, phaseCompare, phaseWaiting} {
		require.True(t, steps[what], what)
	}

	v, err = Verify(t.Context(), From(e, Facts{}), VerifyOptions{Full: true}, func(f Finding) error { return nil })
	require.NoError(t, err)
	require.Nil(t, v.Split)
}
