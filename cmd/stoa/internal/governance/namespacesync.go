package governance

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

func newNamespaceSync(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use: "sync SOCKET_A SOCKET_B [NAMESPACE...]", Short: "Exchange ops between two daemons until both have the same",
		Long: `Exchange the ops of namespaces, or of those in which both daemons have an identity or ops,
between two daemons until both have the same. One that is known to one of them alone goes
to the other only where it is named, which has that follow it. It exits 5 where they can't be brought
level, because one has forgotten what the other lacks. A daemon is named by its socket, or
by the directory that has it.`,
		Example: "  stoa namespace sync a/stoa.sock b/stoa.sock\n  stoa namespace sync a/stoa.sock b/stoa.sock home",
		Args:    twoSockets,
		RunE: between(p, func(ctx context.Context, sides []*rpc.Client, all []codec.GroupID, named bool) error {
			var failed error
			for _, ns := range all {
				r, err := levelOps(ctx, ns, sides, named)
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				d := struct {
					ID     string   `json:"namespace_id"`
					ToA    int      `json:"to_a"` // ops
					ToB    int      `json:"to_b"`
					ForksA int      `json:"forks_at_a,omitempty"` // that wait for somebody to build on them
					ForksB int      `json:"forks_at_b,omitempty"`
					Heads  []string `json:"heads"`
				}{ns.String(), r.ToA.Stored, r.ToB.Stored, r.ToA.Forks, r.ToB.Forks, cli.Texts(r.Heads)}
				err = p.Emit(d, func(w io.Writer) {
					line := levelLine("", d.ID, "op", d.ToA, d.ToB, nameAt(ctx, sides, ns))
					if forks := d.ForksA + d.ForksB; forks > 0 {
						line += fmt.Sprintf("\n  %s of who signed too many beside each other: each daemon keeps those that it has, until somebody builds on them", cli.Count(forks, "fork"))
					}
					fmt.Fprintln(w, line)
				})
				if err != nil {
					return err
				}
			}
			guideDeltas(p, sides[0].Path(), sides[1].Path())
			return failed
		}),
	}
}

// twoSockets demands the arguments of a command between two daemons.
func twoSockets(cmd *cobra.Command, args []string) error {
	return cli.Exactly("SOCKET_A", "SOCKET_B")(cmd, args[:min(2, len(args))])
}

// between runs a command between two daemons, which its first arguments name, about the namespaces
// that the others name; if there are none, about all that both know.
func between(p *cli.Process, run func(ctx context.Context, sides []*rpc.Client, all []codec.GroupID, named bool) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		ctx, forget := cli.Interruptible()
		defer forget()
		var sides []*rpc.Client
		for i, path := range args[:2] {
			client, done, err := (&cli.DaemonFlags{Socket: path, Flag: []string{"SOCKET_A", "SOCKET_B"}[i]}).DialOrServe(ctx, p)
			if err != nil {
				return err
			}
			defer done()
			sides = append(sides, client)
		}
		all, err := toSync(ctx, p, args[2:], sides)
		if err != nil {
			return err
		}
		return run(ctx, sides, all, len(args) > 2)
	}
}

// levelLine says what went to whom of something that has a name, if that is not empty.
func levelLine(indent, id, noun string, toA, toB int, name string) string {
	line := fmt.Sprintf("%s%s  %s to A, %s to B", indent, id, cli.Count(toA, noun), cli.Count(toB, noun))
	if name != "" {
		line += "  " + cli.Plain(name)
	}
	return line
}

// levelOps brings two daemons level in a namespace. If it was named, who has nothing of it
// follows it from then on.
func levelOps(ctx context.Context, ns codec.GroupID, sides []*rpc.Client, named bool) (r namespace.SyncReport, err error) {
	a, b := sides[0].Namespaces(), sides[1].Namespaces()
	if named {
		if err := errors.Join(followFrom(ctx, ns, a, b), followFrom(ctx, ns, b, a)); err != nil {
			return r, err
		}
	}
	return namespace.Sync(ctx, ns, a, b)
}

// followFrom has to follow a namespace that has begun at from.
func followFrom(ctx context.Context, ns codec.GroupID, from, to *rpc.Namespaces) error {
	heads, err := from.Heads(ctx, ns)
	if err != nil || len(heads) == 0 {
		return err
	}
	return to.FollowNamespace(ctx, ns)
}

// toSync returns the namespaces that are named, or all that both sides know. It says of
// the others that they stay where they are: who is a member, and of what, is clear in ops.
func toSync(ctx context.Context, p *cli.Process, named []string, sides []*rpc.Client) (all []codec.GroupID, err error) {
	for _, text := range named {
		ns, err := cli.Find[codec.GroupID](eitherFinds(ctx, sides), "NAMESPACE", text, naming.Query{Kind: naming.Namespace})
		if err != nil {
			return nil, err
		}
		all = append(all, ns)
	}
	if len(named) > 0 {
		return all, nil
	}
	var order []codec.GroupID
	knows, ops := map[codec.GroupID]int{}, map[codec.GroupID]int{}
	for _, side := range sides {
		for info, err := range side.Namespaces().List(ctx) {
			if err != nil {
				return nil, err
			}
			if knows[info.ID]++; knows[info.ID] == 1 {
				order = append(order, info.ID)
			}
			ops[info.ID] += info.Ops
		}
	}
	for _, ns := range order {
		switch {
		case ops[ns] == 0: // nobody has begun it
		case knows[ns] == len(sides):
			all = append(all, ns)
		default:
			p.Guide(fmt.Sprintf("left out, since one of the two has no part in it: %s; to send it all the same: stoa sync %s %s %s",
				ns, cli.Quoted(sides[0].Path()), cli.Quoted(sides[1].Path()), ns))
		}
	}
	return all, nil
}

// nameAt returns what a namespace is called by the first of two daemons that knows.
func nameAt(ctx context.Context, sides []*rpc.Client, ns codec.GroupID) string {
	for _, side := range sides {
		if info, err := side.Namespaces().Namespace(ctx, ns); err == nil && info.Name != "" {
			return string(info.Name)
		}
	}
	return ""
}

// eitherFinds finds what either of two daemons has.
func eitherFinds(ctx context.Context, sides []*rpc.Client) cli.Finder {
	return func(q naming.Query) (naming.Answer, error) {
		a, err := sides[0].Find(ctx, q)
		if err != nil || len(a.Matches) > 0 {
			return a, err
		}
		return sides[1].Find(ctx, q)
	}
}

func newNamespaceVerify(p *cli.Process) *cobra.Command {
	return governanceVerify(p, "namespace", "NAMESPACE")
}

// governanceVerify is the verify command of namespaces, and of groups, which are verified
// with their namespace.
func governanceVerify(p *cli.Process, under, arg string) *cobra.Command {
	return govern(p, under, command{
		Name: "verify", Offline: true, Args: []string{arg}, Short: "Evaluate a namespace again from its ops, and compare",
		Long: `Check every signature, id and nonce of the namespace, evaluate it again, in the daemon's
memory, and compare every verdict and row with what is stored. It exits 2 if something
differs. Bad keys that a member has given a group it names too: what is sealed under them
has no effect, and the store is as it has to be.`,
		Example: "home",
		Run: func(c *call) error {
			g, err := c.groupArg(arg, c.Args[0])
			if err != nil {
				return err
			}
			ns, err := c.groups.NamespaceOf(c.Ctx, g)
			if err != nil {
				return err
			}
			r, err := c.namespaces.Verify(c.Ctx, ns)
			if err != nil {
				return err
			}
			type findingDoc struct {
				Detail string       `json:"detail"`
				Column string       `json:"column,omitempty"`
				Key    cli.HexBytes `json:"key,omitempty"`
				By     string       `json:"by,omitempty"`
			}
			d := struct {
				ID       string       `json:"namespace_id"`
				Ops      int          `json:"ops"`
				Findings []findingDoc `json:"findings"`
				More     int          `json:"more,omitempty"`
			}{ns.String(), r.Ops, []findingDoc{}, r.More}
			for _, f := range r.Findings {
				doc := findingDoc{Detail: f.What, Key: f.Key}
				if f.Column != 0 {
					doc.Column = f.Column.String()
				}
				if !f.By.IsZero() {
					doc.By = f.By.String()
				}
				d.Findings = append(d.Findings, doc)
			}
			n := len(r.Findings) + r.More
			err = c.Emit(d, func(w io.Writer) {
				for _, f := range d.Findings {
					if f.By != "" {
						fmt.Fprintln(w, f.Detail)
						continue
					}
					fmt.Fprintf(w, "%s %x: %s\n", f.Column, []byte(f.Key), f.Detail)
				}
				fmt.Fprintf(w, "%s compared, %s\n", cli.Count(d.Ops, "op"), cli.Count(n, "finding"))
			})
			switch {
			case err != nil || n == 0:
			case !r.Findings[0].By.IsZero(): // and damage comes first
				c.Guide("the store is as it has to be; who gives bad keys is removed by an admin: stoa group remove")
			default:
				err = cli.Fail(cli.ExitDamage, fmt.Errorf("namespace %s is not what its ops make: %s", ns, cli.Count(n, "finding")), "restore a checkpoint, or begin anew and synchronize")
			}
			return err
		},
	})
}
