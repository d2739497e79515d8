package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEventIDsAreParsedStrictly(t *testing.T) {
	for text, want := range map[string]EventID{
		"evt-20251130-000001":               {"20251130", 1},
		"evt-20251130-999999":               {"20251130", 999_999},
		"evt-20251130-1000000":              {"20251130", 1_000_000},
		"evt-20240229-18446744073709551615": {"20240229", 1<<64 - 1},
	} {
		id, ok := ParseEventID(text)
		require.True(t, ok, text)
		require.Equal(t, want, id)
		require.Equal(t, text, id.String())
	}
	require.Equal(t, "evt-20251130-000000", EventID{"20251130", 0}.String())
	for _, text := range []string{"", "evt", "20251130-000001", "evt-20251130", "evt-20251130-", "evt-20251130-000000", "evt-20251130-1", "evt-20251130-0000001", "evt-20251130-01000000",
		"evt-20250229-000001", "evt-2025113-000001", "evt-20251130-00000a", "evt-20251130-+00001", "EVT-20251130-000001", "pol-20251130-000001", "evt-20251130-000001 ", "evt-20251130-18446744073709551616"} {
		_, ok := ParseEventID(text)
		require.False(t, ok, text)
	}
}

func TestDaysAreThoseOfTheCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[0-9]{4}[01][0-9][0-3][0-9]`), rapid.StringMatching(`[0-9]{7,9}`), rapid.StringMatching(`[0-9/:]{8}`)).Draw(t, "text")
		_, err := time.Parse(dayLayout, text)
		require.Equal(t, err == nil, isDay(text), "%q: %v", text, err)
	})
}

// What follows an id is what comes next, and only that.
func TestEventIDsFollowEachOther(t *testing.T) {
	require.True(t, EventID{"20251130", 1}.follows(EventID{}))
	require.False(t, EventID{"20251130", 2}.follows(EventID{}))
	id := EventID{"20251130", 7}
	for _, tc := range []struct {
		next EventID
		want bool
	}{
		{EventID{"20251130", 8}, true}, {EventID{"20251201", 1}, true}, {EventID{"20260101", 1}, true},
		{EventID{"20251130", 7}, false}, {EventID{"20251130", 9}, false}, {EventID{"20251201", 2}, false}, {EventID{"20251129", 1}, false},
	} {
		require.Equal(t, tc.want, tc.next.follows(id), tc.next)
	}
	require.Positive(t, EventID{"20251130", 1_000_000}.Compare(EventID{"20251130", 999_999}))
	require.Negative(t, EventID{"20251130", 9}.Compare(EventID{"20251201", 1}))
	require.Zero(t, id.Compare(id))
}
