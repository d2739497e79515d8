package torture

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// A bit of the log is flipped, in what was acknowledged. The real daemon refuses such
// a store. One that recovers to a point in time drops what comes after: where its
// watermark tells, it refuses too; where not, the recount finds out.
func TestDaemonThatRecoversToAPointInTimeIsCaught(t *testing.T) {
	enginetest.SkipUnderRace(t, ofTheHarness)
	daemon, seed := realDaemon(t), seedOf(t)
	for _, tc := range []struct {
		name   string
		p      program
		flips  int
		demand func(error)
	}{
		{"real", daemon, 1, func(err error) { require.ErrorContains(t, err, "engine: corrupt") }},
		{"point in time", program{path: os.Args[0], env: []string{defectEnv + "=point in time"}}, 2, func(err error) { demandCaught(t, err, "changes are lost") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for flip := range tc.flips {
				h := newHarness(t, tc.p, seed+uint64(flip))
				require.NoError(t, h.roundOf(200, 0))
				require.NoError(t, flipLog(h.dir, h.rand))
				d, clients, err := h.serve()
				if err == nil {
					err = h.recount(clients)
					hangUp(clients)
					err = errors.Join(err, d.kill())
				}
				tc.demand(err)
				t.Logf("caught: %.300s", err)
			}
		})
	}
}

// flipLog flips a bit of a record in the first half of the newest log that has some.
func flipLog(dir string, r *rand.Rand) error {
	logs, err := diskfile.Files(dir, ".log")
	for i := len(logs) - 1; i >= 0 && err == nil; i-- {
		b, err := os.ReadFile(logs[i].Path)
		if err != nil {
			return err
		}
		var starts []int64
		for record, bad := range diskfile.Log(bytes.NewReader(b)) {
			if bad == nil {
				starts = append(starts, record.Offset)
			}
		}
		if n := len(starts); n > 8 {
			b[starts[n/4+r.IntN(n/4)]+r.Int64N(4)] ^= 1 << r.IntN(8) // of its checksum
			return os.WriteFile(logs[i].Path, b, 0o600)
		}
	}
	return errors.Join(err, errors.New("no log has enough records"))
}
