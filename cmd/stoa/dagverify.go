package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/codec"
)

func newDagVerify(p *process) *cobra.Command {
	return daemonCommand{
		about: aboutContext,
		name:  "verify", offline: true, short: "Replay a context from its deltas, and compare",
		long: `Replay a context from its deltas, in the daemon's memory, and compare every root, the heads
and every row of its state with what is stored. It exits 2 if something differs.`,
		run: func(c *daemonCall) error {
			r, err := c.dag.Verify(c.ctx, c.context)
			if err != nil {
				return err
			}
			type findingDoc struct {
				Code   string   `json:"code"`
				Detail string   `json:"detail"`
				Column string   `json:"column,omitempty"`
				Key    hexBytes `json:"key,omitempty"`
				Delta  string   `json:"delta_id,omitempty"`
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
			}{c.context.String(), unlessZero(r.Base), r.Deltas, r.Rows, r.Root.String(), r.Replayed.String(), []findingDoc{}, r.More}
			for i := range r.Findings {
				f := &r.Findings[i]
				doc := findingDoc{string(f.Code), f.Detail, "", f.Key, unlessZero[codec.DeltaID](f.Delta)}
				if f.Column != 0 {
					doc.Column = f.Column.String()
				}
				d.Findings = append(d.Findings, doc)
			}
			err = c.emit(d, func(w io.Writer) {
				for _, f := range r.Findings {
					fmt.Fprintln(w, f)
				}
				fmt.Fprintf(w, "%s and %s compared, %s\n", count(d.Deltas, "delta"), count(d.Rows, "row"), count(len(r.Findings)+r.More, "finding"))
			})
			if err == nil && len(r.Findings)+r.More > 0 {
				err = &failure{exitDamage, fmt.Errorf("context %s is not what its deltas make: %s", c.context, count(len(r.Findings)+r.More, "finding")),
					"seed it again from another node, or restore a checkpoint"}
			}
			return err
		},
	}.command(p, "dag")
}
