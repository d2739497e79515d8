package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each subject makes roots of what it is given.
func TestSubjectsTakeTurns(t *testing.T) {
	all, err := measure(200, 5, 1)
	require.NoError(t, err)
	require.Len(t, all, len(subjects))
	for _, f := range all {
		require.Positive(t, f.wall, f.name)
	}
}
