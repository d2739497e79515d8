package governance

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
)

func newOpDoc(o *namespace.OpInfo) (d govOpDoc, err error) {
	d = govOpDoc{ID: o.ID.String(), Group: cli.UnlessZero(o.GroupID), Parents: cli.Texts(o.Parents), Signer: o.Signer.String(), Nonce: o.Nonce,
		Verdict: o.Verdict.String()}
	d.Kind = kindOf(o.Root, o.Body)
	d.Op, err = contentJSON(o.Root, o.Body)
	return d, err
}

func newNamespaceOps(p *cli.Process) *cobra.Command {
	var heads []string
	var asBytes, full bool
	return onNamedGroup(p, "namespace", command{
		Name: "ops", Args: []string{"NAMESPACE"}, Offline: true, Short: "List the ops of a namespace, parents first",
		Long: `List the ops of a namespace, parents first, with what can be read of them and the present
verdicts; with --head what a node with these heads lacks. --bytes prints what to send to
it, in hex, one op to a line, as stoa namespace apply takes it.` + opLines,
		Example: "home\nhome --head " + cli.ExampleDigits + " --bytes",
		Flags: func(fs *pflag.FlagSet) {
			fullFlag(fs, &full)
			fs.StringSliceVar(&heads, "head", nil, "a head of a node (default: it has nothing)")
			fs.BoolVar(&asBytes, "bytes", false, "print the bytes of each op as they travel, in hex")
		},
		Run: func(c *call) error {
			var has []codec.OpID
			for _, text := range heads {
				id, err := c.opArg(c.group, "--head", text)
				if err != nil {
					return err
				}
				has = append(has, id)
			}
			for sent, err := range c.read.OpsSince(c.Ctx, c.group, has, 0) {
				if err == nil && asBytes && !c.JSON {
					_, err = fmt.Fprintf(c.Stdout, "%x\n", sent.Wire)
				} else if err == nil {
					err = c.showOp(c.group, sent.ID, c.known, asBytes, full)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func (c *call) showOp(ns codec.GroupID, id codec.OpID, known cli.Names, asBytes, full bool) error {
	op, err := c.read.Op(c.Ctx, ns, id)
	if err != nil {
		return err
	}
	d, err := newOpDoc(&op)
	if err != nil {
		return err
	}
	if asBytes {
		d.Bytes = op.Wire
	}
	c.shown.verdict(d.Verdict)
	return c.Emit(d, func(w io.Writer) {
		fmt.Fprintf(w, "%s  %s  %s: %s\n", d.ID, d.Verdict, d.signedBy(known, full), d.said(known, full))
	})
}

func newNamespaceOp(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "namespace", command{
		Name: "op", Args: []string{"NAMESPACE", "OP"}, Offline: true, Short: "Show one op", Long: "Show one op, with its bytes in JSON. It exits 4 if it is not here.", Example: "home " + cli.ExampleDigits,
		Run: func(c *call) error {
			id, err := c.opArg(c.group, "OP", c.Args[1])
			if err != nil {
				return err
			}
			return c.showOp(c.group, id, c.known, true, true)
		},
	})
}

// govAnswerDoc is what became of an op, as JSON.
type govAnswerDoc struct {
	Answer  string             `json:"answer"`
	ID      string             `json:"op_id,omitempty"`
	Verdict string             `json:"verdict,omitempty"`
	Missing []string           `json:"missing,omitempty"`
	Fork    bool               `json:"fork,omitempty"` // it waits for somebody to build on it
	Dropped []string           `json:"dropped,omitempty"`
	Reason  string             `json:"reason,omitempty"`
	Detail  string             `json:"detail,omitempty"`
	Twin    []string           `json:"equivocation,omitempty"` // the ops by one signer with one nonce
	Cascade []govAnswerDoc     `json:"cascade,omitempty"`
	Changed []verdictChangeDoc `json:"changed,omitempty"`
}

// verdictChangeDoc is a verdict that changed, as JSON.
type verdictChangeDoc struct {
	ID  string `json:"op_id"`
	Old string `json:"old"`
	New string `json:"new"`
}

func newGovAnswerDoc(a *namespace.Answer) govAnswerDoc {
	d := govAnswerDoc{Answer: a.Kind.String(), ID: cli.UnlessZero(a.ID), Missing: cli.Texts(a.Missing), Dropped: cli.Texts(a.Dropped),
		Fork: a.Kind == namespace.Pending && len(a.Missing) == 0}
	if a.Verdict.Outcome != 0 {
		d.Verdict = a.Verdict.String()
	}
	if a.Refusal != nil {
		d.Reason, d.Detail = a.Refusal.Reason.String(), a.Refusal.Detail
	}
	if e := a.Equivocation; e != nil {
		d.Twin = []string{e.First.String(), e.Second.String()}
	}
	for i := range a.Cascade {
		d.Cascade = append(d.Cascade, newGovAnswerDoc(&a.Cascade[i]))
	}
	for _, change := range a.Changed {
		d.Changed = append(d.Changed, verdictChangeDoc{change.Op.String(), change.Old.String(), change.New.String()})
	}
	return d
}

// forkText is said of an op that waits though its parents are here.
const forkText = "  a fork: its signer has signed too many beside it; waits until somebody else builds on it"

func (d govAnswerDoc) write(w io.Writer) {
	why := d.Verdict
	if d.Reason != "" {
		why = d.Reason + ": " + d.Detail
	}
	fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%s  %s  %s", d.Answer, d.ID, why), " "))
	for _, id := range d.Missing {
		fmt.Fprintf(w, "  missing  %s\n", id)
	}
	if d.Fork {
		fmt.Fprintln(w, forkText)
	}
	for _, more := range d.Cascade {
		fmt.Fprintf(w, "  %s too  %s  %s\n", more.Answer, more.ID, more.Verdict+more.Reason)
	}
	for _, change := range d.Changed {
		fmt.Fprintf(w, "  changed  %s  %s, was %s\n", change.ID, change.New, change.Old)
	}
	if d.Twin != nil {
		fmt.Fprintf(w, "  equivocation  %s\n", strings.Join(d.Twin, " and "))
	}
}

func newNamespaceApply(p *cli.Process) *cobra.Command {
	return govern(p, "namespace", command{
		Name: "apply", Args: []string{"FILE|-..."}, Short: "Offer ops that another node has sent",
		Long: `Offer ops that another node has sent, and say what becomes of each. A file, or stdin, has
one op as its bytes, or any number in hex, one to a line. Those of a namespace that this
daemon has no part in are refused, unless it was told to: stoa namespace follow. It exits
5 if one is refused.`,
		Example: "  stoa namespace ops home --bytes --socket a/stoa.sock | stoa namespace apply - --socket b/stoa.sock",
		Run: func(c *call) error {
			return cli.Offer(c.Call, "op", func(ops iter.Seq[[]byte]) iter.Seq2[namespace.Answer, error] {
				return c.namespaces.ApplyMany(c.Ctx, ops)
			}, func(a *namespace.Answer) (bool, error) {
				d := newGovAnswerDoc(a)
				c.shown.answer(&d)
				return a.Kind == namespace.Refused, c.Emit(d, d.write)
			})
		},
	})
}

func newNamespaceMissing(p *cli.Process) *cobra.Command {
	return onGroup(p, "namespace", command{
		Name: "missing", Args: []string{"NAMESPACE"}, Offline: true, Short: "List ops that others wait for and that are not here",
		Long: "List the ops to ask other nodes for, in the order of their ids.", Example: "home",
		Run: func(c *call) error {
			for id, err := range c.read.Missing(c.Ctx, c.group) {
				if err != nil {
					return err
				}
				if err := c.Emit(map[string]string{"op_id": id.String()}, func(w io.Writer) { fmt.Fprintln(w, id) }); err != nil {
					return err
				}
			}
			return nil
		},
	})
}
