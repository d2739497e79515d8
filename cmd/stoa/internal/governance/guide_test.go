package governance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// Who makes a new key is told of the ops that it leaves behind.
func TestOpsThatANewKeyLeavesBehindAreCounted(t *testing.T) {
	said := func(changes ...group.Verdict) string {
		var errs strings.Builder
		var done namespace.Proposed
		for _, v := range changes {
			done.Answer.Changed = append(done.Answer.Changed, group.VerdictChange{New: v})
		}
		guideAbandoned(&cli.Process{Stderr: &errs}, done)
		return errs.String()
	}
	gone := group.Verdict{Outcome: group.Void, Reason: group.Abandoned}
	require.Empty(t, said())
	require.Empty(t, said(group.Verdict{Outcome: group.Void, Reason: group.Revoked}))
	require.Contains(t, said(gone, group.Verdict{Outcome: group.Effective}), "1 op under keys that are not here")
	require.Contains(t, said(gone, gone), "2 ops under keys that are not here")
}
