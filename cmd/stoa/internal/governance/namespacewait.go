package governance

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
)

// pendingDoc is an op that waits, as JSON.
type pendingDoc struct {
	Namespace string   `json:"namespace_id"`
	ID        string   `json:"op_id"`
	Signer    string   `json:"signer,omitempty"`
	Bytes     int      `json:"bytes"`
	Since     string   `json:"since,omitempty"`
	Missing   []string `json:"missing"`
}

func (d *pendingDoc) write(w io.Writer, known cli.Names) {
	line := d.ID + "  " + cli.SizeText(uint64(d.Bytes))
	if d.Signer != "" {
		line += "  " + known.Of(d.Signer)
	}
	if d.Since != "" {
		line += "  since " + d.Since
	}
	fmt.Fprintln(w, line)
	for _, id := range d.Missing {
		fmt.Fprintf(w, "  missing  %s\n", id)
	}
	if len(d.Missing) == 0 {
		fmt.Fprintln(w, forkText)
	}
}

func newNamespacePending(p *cli.Process) *cobra.Command {
	return govern(p, "namespace", command{
		Name: "pending", Args: []string{"[NAMESPACE]"}, Offline: true, Short: "List ops that wait for others",
		Long: `List the ops of a namespace, or of all, that wait for ancestors which are not here: who
signed each, how large it is, since when it waits if it came since the daemon began, and
which of its parents are missing; of a fork none is, as it waits until somebody else than
its signer builds on it. In each namespace they are in the order of their ids.
What waits is limited; whoever has most waiting makes room first.
` + cli.ConceptsHint + ".", Example: "\nhome",
		Subs: []*cobra.Command{newNamespacePendingDrop(p)},
		Run: func(c *call) error {
			return c.waiting(func(ns codec.GroupID) (err error) {
				if c.known, err = c.namesOf(ns); err != nil {
					return err
				}
				for op, err := range c.read.PendingOps(c.Ctx, ns) {
					if err != nil {
						return err
					}
					d := pendingDoc{ns.String(), op.ID.String(), cli.UnlessZero(op.Signer), op.Bytes, cli.Instant(op.Since), cli.Texts(op.Missing)}
					if err := c.Emit(d, func(w io.Writer) { d.write(w, c.known) }); err != nil {
						return err
					}
				}
				return nil
			})
		},
	})
}

// waiting calls fn with the namespace that the first argument names; without one with all
// of which ops wait, which people are told of.
func (c *call) waiting(fn func(codec.GroupID) error) error {
	if len(c.Args) > 0 {
		ns, err := cli.Find[codec.GroupID](c.Find, "NAMESPACE", c.Args[0], naming.Query{Kind: naming.Namespace})
		if err != nil {
			return err
		}
		return fn(ns)
	}
	for info, err := range c.read.List(c.Ctx) {
		if err != nil {
			return err
		}
		if info.Pending == 0 {
			continue
		}
		if !c.JSON {
			fmt.Fprintf(c.Stdout, "%s:\n", cli.Plain(cmp.Or(string(info.Name), info.ID.String())))
		}
		if err := fn(info.ID); err != nil {
			return err
		}
	}
	return nil
}

func newNamespacePendingDrop(p *cli.Process) *cobra.Command {
	var sure cli.Confirmation
	var signer string
	return onGroup(p, "namespace pending", command{
		Name: "drop", Args: []string{"NAMESPACE"}, Short: "Have ops wait no longer",
		Long: `Delete the ops of a namespace that wait for ancestors, or those that one has signed. What
is offered again waits again. A synchronization brings what is missing, and then nothing
waits.`,
		Example: "home\nhome --signer " + cli.ExampleID + " --yes",
		Flags: func(fs *pflag.FlagSet) {
			sure.Register(fs)
			fs.StringVar(&signer, "signer", "", "whose ops (default: everybody's)")
		},
		Run: func(c *call) error {
			var who codec.Identity
			if signer != "" {
				var err error
				if who, err = c.memberArg(c.group, "--signer", signer); err != nil {
					return err
				}
			}
			if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) { return c.whatWaits(who) }); err != nil {
				return err
			}
			n, bytes, err := c.namespaces.DropPending(c.Ctx, c.group, who)
			if err != nil {
				return err
			}
			d := struct {
				Namespace string `json:"namespace_id"`
				Ops       int    `json:"ops"`
				Bytes     int64  `json:"bytes"`
			}{c.group.String(), n, bytes}
			return c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "dropped %s, %s\n", cli.Count(n, "op"), cli.SizeText(uint64(bytes))) })
		},
	})
}

// whatWaits says what DropPending is about to do.
func (c *call) whatWaits(who codec.Identity) (string, error) {
	n, bytes := 0, uint64(0)
	for op, err := range c.read.PendingOps(c.Ctx, c.group) {
		if err != nil {
			return "", err
		}
		if who.IsZero() || op.Signer == who {
			n++
			bytes += uint64(op.Bytes)
		}
	}
	wait := "wait"
	if n == 1 {
		wait = "waits"
	}
	return fmt.Sprintf("drop %s that %s, %s", cli.Count(n, "op"), wait, cli.SizeText(bytes)), nil
}

func newNamespaceFollow(p *cli.Process) *cobra.Command {
	return onGroup(p, "namespace", command{
		Name: "follow", Args: []string{"NAMESPACE"}, Short: "Take the ops of a namespace without being invited",
		Long: `Have the daemon take ops of a namespace in which it has neither an identity nor ops, as
a node that only reads along does. Of namespaces that it does not follow it keeps
nothing: their ops are refused as not followed. Who creates a namespace, or joins it,
follows it.`,
		Example: cli.ExampleID,
		Run: func(c *call) error {
			if err := c.namespaces.FollowNamespace(c.Ctx, c.group); err != nil {
				return err
			}
			c.Guide("to get what is there: stoa sync THEIR_SOCKET " + cli.Quoted(c.Client.Path()) + " " + c.group.String())
			return c.Emit(map[string]string{"namespace_id": c.group.String()}, func(w io.Writer) { fmt.Fprintf(w, "followed %s\n", c.group) })
		},
	})
}

func newNamespaceResume(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "namespace", command{
		Name: "resume", Args: []string{"NAMESPACE"}, Short: "Sign in a namespace again, in a store that was restored",
		Long: `Have the daemon sign ops again in a namespace, though its store was restored from a copy
and no other daemon can say what it has signed since. Where one can, namespace sync with it
does the same: what the daemon signs before it knows its own later ops is beside them, with
a nonce that is theirs.`,
		Example: "home",
		Run: func(c *call) error {
			if err := c.namespaces.Resume(c.Ctx, c.group); err != nil {
				return err
			}
			return c.Emit(map[string]string{"namespace_id": c.group.String()}, func(w io.Writer) { fmt.Fprintf(w, "resumed %s\n", c.group) })
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
					fmt.Fprintf(w, "%s  nonce %d  %d ops  %s  %s\n", c.known.Of(d.Signer), d.Nonce, d.Count, d.Ops[0], d.Ops[1])
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}
