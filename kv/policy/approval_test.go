package policy

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/record"
)

// An answer comes in time, from a user, and once.
func TestB89AnswersAreChecked(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	doc := func(o fields) record.Doc {
		fields := fields{"expires_at": "2026-03-01T12:00:00.001Z", "status": "pending"}
		maps.Copy(fields, o)
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		return record.Doc{JSON: text}
	}
	open, late := doc(nil), doc(fields{"expires_at": "2026-03-01T12:00:00Z"})
	by := func(status, who string) record.Doc { return doc(fields{"status": status, "decided_by": who}) }
	for _, tc := range []struct {
		old, changed record.Doc
		code         record.Code
		field        string
	}{
		{open, by("approved", "user:a"), "", ""}, {open, by("rejected", "user:a"), "", ""}, {open, doc(fields{"note": 1}), "", ""},
		{open, by("approved", "agent:a"), record.CodePrecondition, "decided_by"}, {open, by("rejected", system), record.CodePrecondition, "decided_by"},
		{late, by("approved", "user:a"), record.CodePrecondition, "expires_at"}, {late, by("rejected", "user:a"), record.CodePrecondition, "expires_at"},
		{late, by("approved", system), record.CodePrecondition, "expires_at"}, {late, by("rejected", system), "", ""}, {late, doc(fields{"note": 1}), "", ""},
		{by("approved", "user:a"), by("approved", "user:b"), record.CodeImmutable, "decided_by"}, {by("rejected", system), by("rejected", "user:b"), record.CodeImmutable, "decided_by"},
		{by("approved", "user:a"), doc(fields{"status": "approved", "decided_by": "user:a", "decided_reason": "x"}), record.CodeImmutable, "decided_reason"},
		{by("approved", "user:a"), doc(fields{"status": "approved", "decided_by": "user:a", "note": 1}), "", ""},
		{record.Doc{}, open, "", ""}, {record.Doc{}, by("approved", "user:a"), record.CodePrecondition, "status"}, {record.Doc{}, doc(fields{"used_at": "2026-03-01T12:00:00Z"}), record.CodePrecondition, "status"},
	} {
		err := answering(tc.old, tc.changed, now)
		if tc.code == "" {
			require.NoError(t, err, "%s", tc.changed.JSON)
			continue
		}
		var e *record.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{tc.code, tc.field}, []any{e.Code, e.Field})
	}
}
