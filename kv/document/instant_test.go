package document

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestInstantsAreReadWithAnyOffsetAndKeptInUTC(t *testing.T) {
	for in, want := range map[string]string{
		"2025-11-30T12:00:00Z":           "2025-11-30T12:00:00Z",
		"2025-11-30T14:32:01.123Z":       "2025-11-30T14:32:01.123Z",
		"2025-11-30T14:32:01.120Z":       "2025-11-30T14:32:01.12Z",
		"2025-11-30T01:00:00+02:00":      "2025-11-29T23:00:00Z",
		"2025-11-30T14:32:01.5-11:30":    "2025-12-01T02:02:01.5Z",
		"0000-01-01T00:00:00Z":           "0000-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999999Z": "9999-12-31T23:59:59.999999999Z",
	} {
		got, err := ParseInstant(in)
		require.NoError(t, err, in)
		require.Equal(t, want, FormatInstant(got))
	}
	for _, bad := range []string{
		"", "30/11/2025", "2025-11-30", "2025-11-30T12:00Z", "2025-11-30 12:00:00Z", "2025-11-30T12:00:00", "2025-11-30t12:00:00z", "2025-13-01T00:00:00Z",
		"2025-02-29T00:00:00Z", "2025-11-30T24:00:00Z", "2025-11-30T12:00:60Z", "2025-11-30T12:00:00,5Z", "2025-11-30T12:00:00.Z", "2025-11-30T12:00:00+0200",
		"2025-11-30T12:00:00+25:00", "0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "2025-11-30T12:00:00Z\n", "2025-11-30T12:00:00.1234567890Z", "1732972321",
	} {
		_, err := ParseInstant(bad)
		require.ErrorIs(t, err, ErrInstant, bad)
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62167219200, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		got, err := ParseInstant(FormatInstant(at))
		require.NoError(t, err)
		require.True(t, at.Equal(got))
	})
}

// What looks like an instant is what the grammar says.
func TestInstantsLookAsTheGrammarSays(t *testing.T) {
	grammar := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`)
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,10})?(Z|[+-]\d\d:\d\d)?`).Draw(t, "text"))
		if rapid.Bool().Draw(t, "other") {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0aT:.Z+-")).Draw(t, "byte")
			text = text[:rapid.IntRange(0, len(text)).Draw(t, "length")]
		}
		require.Equal(t, grammar.Match(text), isInstant(string(text)), "%s", text)
	})
}

func TestAShapeIsLedByWhatItSays(t *testing.T) {
	for text, want := range map[string]string{"2026-rest": "rest", "0000-": ""} {
		rest, ok := shaped(text, "0000-")
		require.True(t, ok, text)
		require.Equal(t, want, rest)
	}
	for _, text := range []string{"", "2026", "2026_", "x026-", "202/-", "202:-"} {
		rest, ok := shaped(text, "0000-")
		require.False(t, ok, text)
		require.Empty(t, rest)
	}
}
