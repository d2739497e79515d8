package enginetest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFewerIsAShareOfTheScale(t *testing.T) {
	for scale, want := range map[string]int{"": 100, "0.5": 50, "10": 1000} {
		t.Setenv(ScaleEnv, scale)
		t.Run(scale, func(t *testing.T) {
			Fewer(t, 0.1)
			require.Equal(t, want, Scale(1000))
		})
		require.Equal(t, scale, os.Getenv(ScaleEnv))
	}
}
