package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newNamespacePending(p *process) *cobra.Command {
	return daemonCommand{
		name: "pending", args: []string{"NAMESPACE"}, offline: true, short: "List ops that wait for others",
		long: "List the ops that wait for ancestors which are not here, in the order of their ids, with\nthose of their parents that are missing.\n" + conceptsHint + ".", example: "home",
		run: func(c *daemonCall) error {
			ns, err := c.namespaceArg(c.args[0])
			if err != nil {
				return err
			}
			for op, err := range c.read.PendingOps(c.ctx, ns) {
				if err != nil {
					return err
				}
				d := struct {
					ID      string   `json:"op_id"`
					Bytes   int      `json:"bytes"`
					Missing []string `json:"missing"`
				}{op.ID.String(), op.Bytes, texts(op.Missing)}
				err := c.emit(d, func(w io.Writer) {
					fmt.Fprintf(w, "%s  %s\n", d.ID, sizeText(uint64(d.Bytes)))
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
	}.command(p, "namespace")
}

func newNamespaceEquivocations(p *process) *cobra.Command {
	return daemonCommand{
		name: "equivocations", args: []string{"NAMESPACE"}, offline: true, short: "List ops that one signer gave one nonce",
		long: "List where one signer gave one nonce to several ops: things said side by side, by one\nwho lies or whose identity two daemons have. All count; two of them are shown.\n" + conceptsHint + ".", example: "home",
		run: func(c *daemonCall) error {
			ns, known, err := c.namespaceWithNames()
			if err != nil {
				return err
			}
			for e, err := range c.read.Equivocations(c.ctx, ns) {
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
				err := c.emit(d, func(w io.Writer) {
					fmt.Fprintf(w, "%s  nonce %d  %d ops  %s  %s\n", known.of(d.Signer), d.Nonce, d.Count, d.Ops[0], d.Ops[1])
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	}.command(p, "namespace")
}
