package column

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestColumnsHaveTheNumbersAndNamesOfTheSchema(t *testing.T) {
	names := []string{"Meta", "Config", "Identity", "State", "PrivateState", "Delta", "Blobs", "Application", "Alias", "Generic", "Group"}
	require.Equal(t, len(names), Count)
	n := 0
	for c := range All {
		require.Equal(t, Column(n+1), c)
		require.Equal(t, names[n], c.String())
		require.Equal(t, names[n], c.Spec().Name)
		parsed, ok := Parse(names[n])
		require.True(t, ok)
		require.Equal(t, c, parsed)
		n++
	}
	require.Equal(t, Count, n)
}

func TestOtherNumbersAndNamesAreNoColumn(t *testing.T) {
	for _, c := range []Column{0, end, 255} {
		require.False(t, c.Valid())
		require.Panics(t, func() { c.Spec() })
	}
	require.Equal(t, "Column(12)", Column(12).String())
	for _, name := range []string{"", "meta", "default", "Meta "} {
		_, ok := Parse(name)
		require.False(t, ok, name)
	}
}

func TestAllStopsWhenAsked(t *testing.T) {
	n := 0
	for range All {
		n++
		break
	}
	require.Equal(t, 1, n)
}

func TestSpecsAreWhole(t *testing.T) {
	for c := range All {
		s := c.Spec()
		require.NotEmpty(t, s.Holds, s.Name)
		require.NotEmpty(t, s.Key, s.Name)
		require.Positive(t, s.WriteBuffer, s.Name)
		require.Equal(t, s.BlobFiles, s.MinBlob > 0, s.Name)
		require.LessOrEqual(t, s.PrefixBytes, 33, s.Name)
	}
	require.True(t, PrivateState.Spec().NodeLocal)
	require.True(t, Identity.Spec().NodeLocal)
}
