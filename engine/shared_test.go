package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// list is a shared batch of names, full with two of them.
type list []string

func (l *list) Do(name string) error {
	if name == "refused" {
		return errBad
	}
	*l = append(*l, name)
	switch name {
	case "half done":
		return errBad
	case "panics":
		panic("defect")
	}
	return nil
}

func (l *list) Changes() int { return len(*l) }
func (l *list) Full() bool   { return len(*l) >= 2 }

func TestRequestsShareABatchUntilItIsFull(t *testing.T) {
	var l list
	group := errands("a", "refused", "b", "c")
	n, err := engine.Together(&l, group)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, list{"a", "b"}, l)
	require.Equal(t, errBad, group[1].Err)
	for _, i := range []int{0, 2, 3} {
		require.NoError(t, group[i].Err)
	}
	n, err = engine.Together(&l, group[3:])
	require.NoError(t, err)
	require.Equal(t, 1, n, "at least one")

	n, err = engine.Together(new(list), errands("a"))
	require.NoError(t, err)
	require.Equal(t, 1, n, "all that there are")
}

func TestARequestThatLeavesTheSharedBatchHalfDoneEndsIt(t *testing.T) {
	group := errands("a", "half done", "b")
	n, err := engine.Together(new(list), group)
	require.Equal(t, errBad, err)
	require.Equal(t, 2, n)
	require.NoError(t, group[1].Err, "it may do better alone")

	group = errands("panics", "b")
	n, err = engine.Together(new(list), group)
	require.ErrorContains(t, err, "panic: defect\n")
	require.ErrorContains(t, err, "shared_test.go", "the stack")
	require.Equal(t, 1, n)
	require.Equal(t, "defect", group[0].Panic)
}
