package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContextsAreJSONObjectsOfBoundedSize(t *testing.T) {
	context, err := ParseContext([]byte(` {"n": 1, "f": 2.5, "s": "x", "l": [true, null], "m": {"a": {}}} `))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"n": 1.0, "f": 2.5, "s": "x", "l": []any{true, nil}, "m": map[string]any{"a": map[string]any{}}}, context)
	for _, none := range []string{"", "{}"} {
		context, err := ParseContext([]byte(none))
		require.NoError(t, err)
		require.Empty(t, context)
	}
	full := `{"a": "` + strings.Repeat("x", MaxContext-9) + `"}`
	_, err = ParseContext([]byte(full))
	require.NoError(t, err)
	for what, text := range map[string]string{
		"a byte too many":    full + " ",
		"no object":          `[1]`,
		"null":               `null`,
		"two":                `{} {}`,
		"a name twice":       `{"agent": "a", "agent": "b"}`,
		"half a pair":        `{"a": "\ud800"}`,
		"an inexact integer": `{"a": 9007199254740993}`,
		"no UTF-8":           "{\"a\": \"\xff\"}",
		"nested too deep":    `{"a": ` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
		"cut":                `{"a": `,
	} {
		_, err := ParseContext([]byte(text))
		requireField(t, err, "context", what)
	}
}
