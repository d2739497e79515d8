package group

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// A map that has grown is not used again, which would take the time of all it ever held at each
// use; one that has not is.
func TestAMapThatHasGrownIsNotUsedAgain(t *testing.T) {
	for n, again := range map[int]bool{0: true, keptEntries: true, keptEntries + 1: false} {
		m := map[int]int{}
		for i := range n {
			m[i] = i
		}
		got := emptied(m)
		require.Empty(t, got)
		require.Equal(t, again, reflect.ValueOf(got).Pointer() == reflect.ValueOf(m).Pointer(), n)
	}
}
