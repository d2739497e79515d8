package contexts

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
)

func newDag(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("dag", "Commit, exchange and inspect the deltas of a context",
		"  stoa dag commit room --put counter=1\n  stoa dag log room\n  stoa dag graph room --format dot",
		newDagCommit(p), newDagHeld(p), newDagAdopt(p), newDagAdd(p), newDagHeads(p), newDagLog(p), newDagShow(p), newDagGraph(p), newDagMissing(p), newDagPending(p),
		newDagRefused(p), newDagAncestor(p), newDagSince(p), newDagFollow(p), newDagCursors(p), newDagProof(p), newDagDiff(p), newDagSnapshot(p), newDagSeed(p), newDagVerify(p), newDagClock(p))
	cmd.Long = `Commit, exchange and inspect the deltas of a context. A delta is immutable and named
by the hash of its bytes; those bytes are what nodes exchange. Deltas stand in files
and pipes as hex, one to a line.`
	return cmd
}

// stampDoc is a stamp as JSON.
type stampDoc struct {
	Time   uint64 `json:"time,string"` // NTP64
	Node   string `json:"node_id"`     // 32 hex digits
	Around string `json:"at"`          // RFC 3339
}

func newStampDoc(t codec.HybridTimestamp) stampDoc {
	return stampDoc{t.Time, t.ID.Hex(), hlc.NTP64(t.Time).Time().UTC().Format(time.RFC3339Nano)}
}

// refusalDoc is a refusal as JSON.
type refusalDoc struct {
	ID       string `json:"delta_id,omitempty"`
	Reason   string `json:"reason"`
	Ancestor string `json:"ancestor,omitempty"`
	Expected string `json:"expected_root_hash,omitempty"`
	Computed string `json:"computed_root_hash,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

func newRefusalDoc(r *dag.Refusal) *refusalDoc {
	if r == nil {
		return nil
	}
	return &refusalDoc{cli.UnlessZero(r.Delta), r.Reason.String(), cli.UnlessZero(r.Ancestor), cli.UnlessZero(r.Expected), cli.UnlessZero(r.Computed), r.Detail}
}

// said says for people why a delta is refused.
func (d *refusalDoc) said() string {
	s := d.Reason
	if d.Expected != "" {
		s += fmt.Sprintf(": it expects the root %s, its ancestors and itself make %s", d.Expected, d.Computed)
	}
	if d.Ancestor != "" {
		s += ": parent " + d.Ancestor
	}
	if d.Detail != "" {
		s += ": " + d.Detail
	}
	return s
}
