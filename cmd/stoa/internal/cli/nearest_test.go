package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTyposFindTheirWord(t *testing.T) {
	require.Equal(t, ": did you mean GroupMember?", DidYouMean("groupmembr", []string{"GroupMember", "Alias"}))
	require.Equal(t, "", DidYouMean("xyz", []string{"GroupMember", "Alias"}))
	require.Equal(t, 3, distance("kitten", "sitting"))
	require.Equal(t, 4, distance("", "four"))
}
