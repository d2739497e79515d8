package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "1048576": 1 << 20, "64KiB": 64 << 10, "256 MiB": 256 << 20, "1.5GiB": 3 << 29, "10GB": 1e10, "7B": 7,
	} {
		var s Size
		require.NoError(t, s.Set(text), text)
		require.Equal(t, want, s, text)
	}
	for _, text := range []string{"", "MiB", "-1", "1e400", "NaN", "12 parsecs", "99999999999999999999"} {
		require.Error(t, new(Size).Set(text), text)
	}
}
