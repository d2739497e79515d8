package governance

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newNamespacePending(p *cli.Process) *cobra.Command {
	return onGroup(p, "namespace", command{
		Name: "pending", Args: []string{"NAMESPACE"}, Offline: true, Short: "List ops that wait for others",
		Long: "List the ops that wait for ancestors which are not here, in the order of their ids, with\nthose of their parents that are missing.\n" + cli.ConceptsHint + ".", Example: "home",
		Run: func(c *call) error {
			for op, err := range c.read.PendingOps(c.Ctx, c.group) {
				if err != nil {
					return err
				}
				d := struct {
					ID      string   `json:"op_id"`
					Bytes   int      `json:"bytes"`
					Missing []string `json:"missing"`
				}{op.ID.String(), op.Bytes, cli.Texts(op.Missing)}
				err := c.Emit(d, func(w io.Writer) {
					fmt.Fprintf(w, "%s  %s\n", d.ID, cli.SizeText(uint64(d.Bytes)))
					for _, id := range d.Missing {
						fmt.Fprintf(w, "  missing  %s\n", id)
					}
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func newNamespaceEquivocations(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "namespace", command{
		Name: "equivocations", Args: []string{"NAMESPACE"}, Offline: true, Short: "List ops that one signer gave one nonce",
		Long: "List where one signer gave one nonce to several ops: things said side by side, by one\nwho lies or whose identity two daemons have. All count; two of them are shown.\n" + cli.ConceptsHint + ".", Example: "home",
		Run: func(c *call) error {
			for e, err := range c.read.Equivocations(c.Ctx, c.group) {
				if err != nil {
					return err
				}
				d := struct {
					Signer string   `json:"signer"`
					Nonce  uint64   `json:"nonce,string"`
					Count  int      `json:"count"`
					Ops    []string `json:"ops"`
				}{e.Signer.String(), e.Nonce, e.Count, []string{e.First.String(), e.Second.String()}}
				c.shown.equivocation = true
				err := c.Emit(d, func(w io.Writer) {
					fmt.Fprintf(w, "%s  nonce %d  %d ops  %s  %s\n", c.known.of(d.Signer), d.Nonce, d.Count, d.Ops[0], d.Ops[1])
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}
