package condition

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// contextOf reads a context.
func contextOf(t testing.TB, text string) map[string]any {
	t.Helper()
	var context map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &context))
	return context
}

// ask compiles a condition and asks it of a context.
func ask(t testing.TB, source, context string) (bool, error) {
	t.Helper()
	p, err := Compile(source)
	require.NoError(t, err, source)
	require.Equal(t, source, p.Source())
	return p.Eval(&Env{Agent: "cece", Action: "email.send", Context: contextOf(t, context)})
}

// readContext reads a context that may be no JSON.
func readContext(text string, context *map[string]any) bool {
	return json.Unmarshal([]byte(text), context) == nil
}
