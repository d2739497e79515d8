package policywire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestAnswersThatMakeNoSenseNameTheirField(t *testing.T) {
	for _, r := range []stoav1.PolicyResult{0, 5, -1} {
		_, err := Decision("decision", &stoav1.PolicyDecision{Result: r})
		require.ErrorContains(t, err, "decision.result: no result")
	}
	_, err := Decision("decision", nil)
	require.ErrorContains(t, err, "decision.result: no result")
	_, err = eventID("last", "evt-1")
	require.ErrorContains(t, err, "last: no id of an event")
	var rows []Row
	err = Rows.Parse(&stoav1.PolicyRowsResponse{Columns: []string{"a", "b"}, Rows: []*stoav1.PolicyRow{{Values: [][]byte{[]byte("1")}}}}, &rows)
	require.ErrorContains(t, err, "rows: 1 values of 2 columns")
}

func TestWhatIsCarriedComesBack(t *testing.T) {
	d := policy.Decision{Allowed: true, Result: policy.Transformed, Reason: "r", Policy: "p", Rule: "q", Transform: "f", Delegation: "d"}
	back, err := Decision("decision", FromDecision(&d))
	require.NoError(t, err)
	require.Equal(t, d, back)
	id := policy.EventID{Day: "20260301", Number: 7}
	same, err := eventID("last", fromEventID(&id))
	require.NoError(t, err)
	require.Equal(t, id, same)
	rows := []Row{{[]string{"a"}, []json.RawMessage{json.RawMessage("1")}}, {[]string{"a"}, []json.RawMessage{json.RawMessage("null")}}}
	var m stoav1.PolicyRowsResponse
	require.NoError(t, Rows.Fill(&m, &rows))
	var got []Row
	require.NoError(t, Rows.Parse(&m, &got))
	require.Equal(t, rows, got)
}
