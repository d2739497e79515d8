package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	for _, text := range []string{"", "evt", "evt-20251130", "evt-20251130-", "evt-20251130-000000", "evt-20251130-1", "evt-20251130-0000001", "evt-20251130-01000000",
		"evt-20250229-000001", "evt-2025113-000001", "evt-20251130-00000a", "evt-20251130-+00001", "EVT-20251130-000001", "pol-20251130-000001", "evt-20251130-000001 ", "evt-20251130-18446744073709551616"} {
		_, ok := ParseEventID(text)
		require.False(t, ok, text)
	}
}

// Ids count within a day and begin anew with the next; what follows an id is what
// comes next, and only that.
func TestEventIDsFollowEachOther(t *testing.T) {
	noon := time.Date(2025, 11, 30, 12, 0, 0, 0, time.UTC)
	first := EventID{}.next(noon)
	require.Equal(t, "evt-20251130-000001", first.String())
	require.Equal(t, "evt-20251130-000002", first.next(noon.Add(12*time.Hour-time.Millisecond)).String())
	require.Equal(t, "evt-20251201-000001", first.next(noon.Add(12*time.Hour)).String())
	require.Equal(t, "evt-20251130-1000000", EventID{"20251130", 999_999}.next(noon).String())
	require.Equal(t, "evt-20251130-000002", first.next(noon.In(time.FixedZone("", 14*3600))).String(), "the day is that of UTC")
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
