package server

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// README.md has every name that a daemon may tell in its status, and no other.
func TestTheREADMENamesEveryFeature(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), "`Status.features` names what a daemon can do:")
	require.True(t, ok)
	list, _, ok := strings.Cut(rest, "A client looks")
	require.True(t, ok)
	var named []string
	for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(list, -1) {
		named = append(named, m[1])
	}
	require.Equal(t, append(allFeatures(), "raw"), named)
	require.True(t, slices.IsSorted(allFeatures()))
}
