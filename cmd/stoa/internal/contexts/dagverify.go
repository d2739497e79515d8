package contexts

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
)

func newDagVerify(p *cli.Process) *cobra.Command {
	return onContext(p, "dag", command{
		Name: "verify", Offline: true, Short: "Replay a context from its deltas, and compare",
		Long: `Replay a context from its deltas, in the daemon's memory, and compare every root, the heads
and every row of its state with what is stored. It exits 2 if something differs.`,
		Run: func(c *call) error {
			r, err := c.dag.Verify(c.Ctx, c.context)
			if err != nil {
				return err
			}
			type findingDoc struct {
				Code   string       `json:"code"`
				Detail string       `json:"detail"`
				Column string       `json:"column,omitempty"`
				Key    cli.HexBytes `json:"key,omitempty"`
				Delta  string       `json:"delta_id,omitempty"`
			}
			d := struct {
				Context  string       `json:"context_id"`
				Base     string       `json:"base,omitempty"`
				Deltas   uint64       `json:"deltas"`
				Rows     uint64       `json:"rows"`
				Root     string       `json:"root_hash"`
				Replayed string       `json:"replayed_root_hash"`
				Findings []findingDoc `json:"findings"`
				More     int          `json:"more,omitempty"`
			}{c.context.String(), cli.UnlessZero(r.Base), r.Deltas, r.Rows, r.Root.String(), r.Replayed.String(), []findingDoc{}, r.More}
			for i := range r.Findings {
				f := &r.Findings[i]
				doc := findingDoc{string(f.Code), f.Detail, "", f.Key, cli.UnlessZero[codec.DeltaID](f.Delta)}
				if f.Column != 0 {
					doc.Column = f.Column.String()
				}
				d.Findings = append(d.Findings, doc)
			}
			err = c.Emit(d, func(w io.Writer) {
				for _, f := range r.Findings {
					fmt.Fprintln(w, f)
				}
				fmt.Fprintf(w, "%s and %s compared, %s\n", cli.Count(d.Deltas, "delta"), cli.Count(d.Rows, "row"), cli.Count(len(r.Findings)+r.More, "finding"))
			})
			if err == nil && len(r.Findings)+r.More > 0 {
				err = cli.Fail(cli.ExitDamage, fmt.Errorf("context %s is not what its deltas make: %s", c.context, cli.Count(len(r.Findings)+r.More, "finding")),
					"seed it again from another node, or restore a checkpoint")
			}
			return err
		},
	})
}
