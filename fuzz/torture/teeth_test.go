package torture

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/rpc"
)

// ofTheHarness is why the race detector does not see daemons with a defect.
const ofTheHarness = "what is tested is the harness; a daemon that has no defect is seen under load"

// A harness that finds nothing would hold nothing: each of these daemons has one
// defect, and is caught by what is wrong with it; the one that has none, but is made
// in the same way, passes.
func TestDaemonsWithADefectDoNotPass(t *testing.T) {
	realDaemon(t) // or there is nothing to kill
	seed := seedOf(t)
	for _, tc := range []struct {
		defect string
		kills  int
		caught string   // what is said of it; empty: nothing
		only   []string // by whom, so that it does not take long; none: by all
	}{
		{"nothing", 3, "", nil},
		{"sync off", 25, "acknowledged|is not there|instead of|before its time", nil},
		{"split batch", 25, "exit status 2|is not there, nor|there is map|acknowledged were", nil},
		{"lost index row", 25, "dag-seq", []string{"Dag commits", "Dag adds"}},
		{"uncounted use", 25, "counts [0-9]+ uses; of|collection delegation of tenant", []string{"decisions and uses"}},
		{"lost grant", 25, "NOT_HOLDER|but the lock is|was not held when|was refused, and|was granted|kv-due|kv-index|kv-counters|kv-log", []string{"locks and guarded writes"}},
		{"lost answer", 25, "is answered by|by the answers|came too late|kv-index|kv-counters|kv-log", []string{"reviews of tasks"}},
		{"undone job", 25, "is none any more|it was done: true", []string{"jobs"}},
		{"lost event", 25, "of the stream was published as|acknowledged were", []string{"events"}},
		{"uncounted check", 25, "count of user|was allowed of user|were allowed of user", []string{"rate limits"}},
		{"lost setting", 25, "config:lock:default_ttl (is|was not set)", []string{"settings"}},
		{"stayed signed in", 25, "was ended, is there", []string{"sessions"}},
		{"skipped root check", 25, "on a root that the context does not have", []string{"Dag commits"}},
		{"broken compare", 25, "whose expectation does not hold", []string{"Store batches"}},
	} {
		t.Run(tc.defect, func(t *testing.T) {
			if tc.caught != "" {
				enginetest.SkipUnderRace(t, ofTheHarness)
			}
			p := program{path: os.Args[0], env: []string{defectEnv + "=" + tc.defect}}
			if tc.defect == "skipped root check" {
				p.framings = []rpc.Framing{rpc.FramingGRPC}
			}
			h := newHarness(t, p, seed)
			h.only = tc.only
			h.replace()
			err := h.run(tc.kills)
			if tc.caught == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err, "%d kills", h.kills)
			require.Regexp(t, tc.caught, err.Error())
			t.Logf("caught after %d kills: %.300s", h.kills, err)
		})
	}
}
