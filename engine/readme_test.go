package engine_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func TestTheExampleOfTheREADME(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(text), "<!-- example -->\n```\n")
	require.True(t, ok)
	example, _, ok := strings.Cut(after, "```")
	require.True(t, ok)
	ops, expects, ok := strings.Cut(example, "\n\n")
	require.True(t, ok)

	b, err := engine.ParseBatch(octets(t, ops), octets(t, expects), engine.Synced)
	require.NoError(t, err)
	same := filled(func(b *engine.Batch) {
		b.Put(column.Config, []byte("k"), []byte("v2"))
		b.Delete(column.State, []byte("old"))
		b.Expect(column.Config, []byte("k"), []byte("v1"))
	})
	require.Equal(t, same.Bytes(), b.Bytes())
	require.Equal(t, same.Expectations(), b.Expectations())
}

// octets returns the bytes that stand in hex before the notes of each line.
func octets(t testing.TB, text string) (all []byte) {
	t.Helper()
	for line := range strings.Lines(text) {
		digits, _, _ := strings.Cut(strings.TrimSpace(line), "   ")
		b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		require.NoError(t, err, line)
		all = append(all, b...)
	}
	return all
}
