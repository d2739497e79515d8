package torture

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc"
)

// ofTheHarness is why the race detector does not see daemons with a defect.
const ofTheHarness = "what is tested is the harness; a daemon that has no defect is seen under load"

// demandCaught demands that a worker has said what is wrong, or something else that also
// matches.
func demandCaught(t *testing.T, err error, also string) {
	t.Helper()
	require.Error(t, err)
	if !isWrong(err) {
		require.NotEmpty(t, also, "no worker says what is wrong: %v", err)
		require.Regexp(t, also, err.Error())
	}
}

// A harness that finds nothing would hold nothing: each of these daemons has one
// defect, and is caught by a worker, or by what the store says; the one that has none,
// but is made in the same way, passes.
func TestDaemonsWithADefectDoNotPass(t *testing.T) {
	realDaemon(t) // or there is nothing to kill
	seed := seedOf(t)
	for _, tc := range []struct {
		defect string
		kills  int      // until it has been caught; "nothing" never is
		also   string   // how it may be caught but by a worker; empty: not at all
		only   []string // by whom, so that it does not take long; none: by all
	}{
		{"nothing", 3, "", nil},
		{"sync off", 25, "", nil},
		{"split batch", 25, "exit status 2", nil},
		{"lost index row", 25, "dag-seq", []string{"Dag commits", "Dag adds"}},
		{"uncounted use", 25, "collection delegation of tenant", []string{"decisions and uses"}},
		{"lost grant", 25, "NOT_HOLDER|kv-due|kv-index|kv-counters|kv-log", []string{"locks and guarded writes"}},
		{"lost answer", 25, "kv-index|kv-counters|kv-log", []string{"reviews of tasks"}},
		{"undone job", 25, "", []string{"jobs"}},
		{"lost event", 25, "", []string{"events"}},
		{"uncounted check", 25, "", []string{"rate limits"}},
		{"lost setting", 25, "", []string{"settings"}},
		{"stayed signed in", 25, "", []string{"sessions"}},
		{"lost change", 25, "kv-index|kv-counters|kv-log", []string{"buckets"}},
		{"uncounted entry", 25, "kv-index|kv-counters|kv-log", []string{"streams and projections"}},
		{"skipped root check", 25, "", []string{"Dag commits"}},
		{"broken compare", 25, "", []string{"Store batches"}},
	} {
		t.Run(tc.defect, func(t *testing.T) {
			if tc.defect != "nothing" {
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
			if tc.defect == "nothing" {
				require.NoError(t, err)
				return
			}
			demandCaught(t, err, tc.also)
			t.Logf("caught after %d kills: %.300s", h.kills, err)
		})
	}
}

// forgotten is a worker that is told by a daemon that it has nothing of its own.
type forgotten struct{ says error }

func (w forgotten) use(*rpc.Client) error     { return nil }
func (w forgotten) recount(*rpc.Client) error { return w.says }

func TestWhatWasAcknowledgedAndIsNotThereIsWrong(t *testing.T) {
	for _, err := range []error{engine.ErrNotFound, record.ErrNotFound, bucket.ErrNotFound, stream.ErrNotFound, event.ErrNotFound, dag.ErrNoContext} {
		require.True(t, isWrong(recount(forgotten{err}, nil)), "%v", err)
	}
	require.ErrorIs(t, recount(forgotten{rpc.ErrUnavailable}, nil), rpc.ErrUnavailable)
	require.NoError(t, recount(forgotten{}, nil))
}

// What a power cut may leave is told from damage, and from damage beside it.
func TestWhatAPowerCutMayLeaveIsToldFromDamage(t *testing.T) {
	const hole = "left  the log ends at 4,096 bytes\n"
	// Seed 5127020942495812730, -fault reviews/eio/54: the sync of the directory failed, and the power went off.
	const name = "marks  CURRENT names MANIFEST-000035, whose name was not on disk yet: what was on disk is in MANIFEST-000005\n"
	for said, only := range map[string]bool{
		hole + "stoa: 1 finding\n":                                              true,
		name + "full verification of 0 rows: 1 finding\n":                       true,
		hole + name + "stoa: 2 findings\n":                                      true,
		name + "root  context 01: another root\nstoa: 2 findings\n":             false,
		"marks  CURRENT is damaged\nstoa: 1 finding\n":                          false,
		"full verification of 0 rows: 0 findings\n":                             false,
		"stoa: the directory can't be read\n":                                   false,
		"root  context 01: " + name + "full verification of 1 row: 1 finding\n": false,
	} {
		require.Equal(t, only, holeOnly([]byte(said)), said)
	}
}
