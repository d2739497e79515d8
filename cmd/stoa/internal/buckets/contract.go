package buckets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
	"github.com/stoadb/stoa/rpc"
)

// contractFile reads the contract that an argument names: a file, or - for stdin.
func contractFile(p *cli.Process, arg string) ([]byte, error) {
	if arg != "-" {
		arg = "@" + arg
	}
	return p.Argument("FILE", arg)
}

func newDigest(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use: "digest FILE", Short: "Print the digest of a contract, or what is wrong with it", Args: cli.Exactly("FILE"),
		Long: `Print the digest of a contract, by which it is accepted, or all that is wrong with it. It is the same for two
contracts if and only if none changes anything of the other. - reads from stdin; no daemon is asked.`,
		Example: "  stoa contract digest activity.json",
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := contractFile(p, args[0])
			if err != nil {
				return err
			}
			c, err := contract.Parse(text)
			if err != nil {
				return err
			}
			return p.Emit(map[string]string{"service": c.Service, "digest": c.Digest()}, func(w io.Writer) { fmt.Fprintln(w, c.Digest()) })
		},
	}
}

func newPropose(p *cli.Process) *cobra.Command {
	return ofTenant(p, "contract", command{
		Name: "propose", Short: "Have a contract wait for a decision", Args: []string{"FILE"},
		Long: `Have a contract wait for a decision, instead of one of the service that waits. Nothing of its buckets is
changed. FILE is JSON; - reads it from stdin.`,
		Example: "activity.json --tenant acme",
		Run: func(c *call) error {
			text, err := contractFile(c.Process, c.Args[0])
			if err != nil {
				return err
			}
			a, err := c.buckets.Propose(c.Ctx, text)
			if err != nil {
				return err
			}
			if err := c.emitAuthority(a); err != nil {
				return err
			}
			c.Guide("what accepting it changes: stoa contract plan " + cli.Quoted(a.Service) + c.Again)
			return nil
		},
	})
}

func newPlan(p *cli.Process) *cobra.Command {
	return ofTenant(p, "contract", command{
		Name: "plan", Offline: true, Short: "Print what accepting the contract that waits changes", Args: []string{"SERVICE"},
		Long: `Print what accepting the contract that waits changes, and why each change is an update or a migration: by a
migration something that is stored may be lost or refused. Where a schema is another, all values of the bucket
are held to it, and those that would be refused are counted.`,
		Example: "activity --tenant acme\nactivity --json --tenant acme",
		Run: func(c *call) error {
			plan, err := c.buckets.Plan(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			if err := c.Emit(plan, func(w io.Writer) { writePlan(w, plan) }); err != nil {
				return err
			}
			step := "stoa contract accept " + cli.Quoted(plan.Service) + " " + plan.Digest
			if plan.Class == contract.ClassMigration {
				step += " --migration"
			}
			c.Guide("to accept it: " + step + c.Again)
			return nil
		},
	})
}

// writePlan writes a plan, a line for each change and one for its reason.
func writePlan(w io.Writer, plan *rpc.BucketProposal) {
	fmt.Fprintf(w, "%s: %s, %s\n", plan.Service, plan.Class, cli.Count(len(plan.Changes), "change"))
	for _, change := range plan.Changes {
		fmt.Fprintf(w, "  %s  %s  %s", change.Alias, change.What, change.Class)
		if text := fromTo(change.From, change.To); text != "" {
			fmt.Fprintf(w, "  %s", text)
		}
		fmt.Fprintf(w, "\n    %s\n", change.Reason)
		if change.Path != "" {
			fmt.Fprintf(w, "    at %s of the schema\n", change.Path)
		}
		if len(change.Unchecked) > 0 {
			fmt.Fprintf(w, "    values may have already, undeclared: %s\n", strings.Join(change.Unchecked, ", "))
		}
	}
	for _, r := range plan.Refused {
		fmt.Fprintf(w, "  %s  %d of %s of bucket %s would be refused\n", r.Alias, r.Count, cli.Count(r.Values, "value"), r.Bucket)
		if r.Key != "" {
			fmt.Fprintf(w, "    the first is %s: %s\n", strconv.Quote(r.Key), r.Reason)
		}
	}
}

// fromTo is what something was, and what it becomes; where one is missing the other; "": neither.
func fromTo(from, to json.RawMessage) string {
	if from == nil || to == nil {
		return cli.Shorten(string(from)+string(to), cli.LineText)
	}
	return cli.Shorten(string(from), cli.LineText) + " -> " + cli.Shorten(string(to), cli.LineText)
}

func newAccept(p *cli.Process) *cobra.Command {
	migration := false
	return ofTenant(p, "contract", command{
		Name: "accept", Short: "Have the contract that waits be the one that is desired", Args: []string{"SERVICE", "DIGEST"},
		Long: `Have the contract that waits, and has the digest of the plan that was looked at, be the one that is desired.
Nothing of the buckets is changed before stoa contract reconcile, and until then the service has none.`,
		Example: "activity \"$(stoa contract digest activity.json)\" --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&migration, "migration", false, "the plan is a migration, by which something may be lost or refused, and that is meant")
		},
		Run: func(c *call) error {
			a, err := c.buckets.Accept(c.Ctx, c.Args[0], c.Args[1], migration)
			if errors.Is(err, bucket.ErrConflict) {
				return cli.Refused(err, "`stoa contract plan` says which it is; --migration acknowledges one")
			}
			if err != nil {
				return err
			}
			if err := c.emitAuthority(a); err != nil {
				return err
			}
			if !a.Bound() {
				c.Guide("to have its buckets be so: stoa contract reconcile " + cli.Quoted(a.Service) + c.Again)
			}
			return nil
		},
	})
}

func newReject(p *cli.Process) *cobra.Command {
	return ofTenant(p, "contract", command{
		Name: "reject", Short: "Forget the contract that waits", Args: []string{"SERVICE", "DIGEST"},
		Long:    `Forget the contract that waits, and has a digest. What is desired stays as it is.`,
		Example: "activity \"$(stoa contract digest activity.json)\" --tenant acme",
		Run: func(c *call) error {
			a, err := c.buckets.Reject(c.Ctx, c.Args[0], c.Args[1])
			if err != nil {
				return err
			}
			return c.emitAuthority(a)
		},
	})
}

func newReconcile(p *cli.Process) *cobra.Command {
	return ofTenant(p, "contract", command{
		Name: "reconcile", Short: "Have the buckets of a service be those of its contract", Args: []string{"SERVICE"},
		Long: `Have the buckets of a service be those of the contract that is desired, all of them or none: those that are
missing are made, those that are there and nobody's are adopted if they are as they are to be, others of the
service are altered, and those whose alias the contract has no more are removed. Again it changes nothing.`,
		Example: "activity --tenant acme",
		Run: func(c *call) error {
			r, err := c.buckets.Reconcile(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			d := struct {
				Created   []string             `json:"created"`
				Adopted   []string             `json:"adopted"`
				Altered   []string             `json:"altered"`
				Removed   []string             `json:"removed"`
				Authority *rpc.BucketAuthority `json:"authority"`
			}{aliases(r.Created), aliases(r.Adopted), aliases(r.Altered), aliases(r.Removed), r.Authority}
			return c.Emit(d, func(w io.Writer) {
				for _, done := range []struct {
					what    string
					aliases []string
				}{{"created", r.Created}, {"adopted", r.Adopted}, {"altered", r.Altered}, {"removed", r.Removed}} {
					if len(done.aliases) > 0 {
						fmt.Fprintf(w, "%s %s\n", done.what, strings.Join(done.aliases, ", "))
					}
				}
				writeAuthority(w, r.Authority)
			})
		},
	})
}

// aliases is a list that is one in JSON too if it is empty.
func aliases(list []string) []string { return append([]string{}, list...) }

func newRevoke(p *cli.Process) *cobra.Command {
	var sure cli.Confirmation
	return ofTenant(p, "contract", command{
		Name: "revoke", Short: "Remove the buckets of a service, and its contracts", Args: []string{"SERVICE"},
		Long:    `Remove the buckets of a service with all that they have, and its contracts. What was adopted stays.`,
		Example: "activity --tenant acme\nactivity --tenant acme --yes", Flags: sure.Register,
		Run: func(c *call) error {
			if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) {
				a, err := c.buckets.Authority(c.Ctx, c.Args[0])
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("remove the contracts of %s with %s", strconv.Quote(a.Service), cli.Count(len(a.Bindings), "bucket")), nil
			}); err != nil {
				return err
			}
			gone, err := c.buckets.Revoke(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(map[string][]string{"removed": aliases(gone)}, func(w io.Writer) {
				fmt.Fprintf(w, "revoked %s\n", c.Args[0])
				for _, name := range gone {
					fmt.Fprintf(w, "  removed bucket %s\n", name)
				}
			})
		},
	})
}

func newShow(p *cli.Process) *cobra.Command {
	return ofTenant(p, "contract", command{
		Name: "show", Offline: true, Short: "Print what was agreed with a service, and the buckets that it has", Args: []string{"SERVICE"},
		Long:    `Print what was agreed with a service, and the buckets that it has; --json has the contracts.`,
		Example: "activity --tenant acme\nactivity --json --tenant acme",
		Run: func(c *call) error {
			a, err := c.buckets.Authority(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.emitAuthority(a)
		},
	})
}

func (c *call) emitAuthority(a *rpc.BucketAuthority) error {
	return c.Emit(a, func(w io.Writer) { writeAuthority(w, a) })
}

// state says in which state a service and its contracts are.
func state(a *rpc.BucketAuthority) string {
	text := fmt.Sprintf("version %d is desired, and its buckets are there", a.Version)
	switch {
	case a.Version == 0:
		text = "no contract was accepted"
	case !a.Bound() && a.Materialized == 0:
		text = fmt.Sprintf("version %d is desired, and no buckets are there", a.Version)
	case !a.Bound():
		text = fmt.Sprintf("version %d is desired, and the buckets are those of version %d", a.Version, a.Materialized)
	}
	if a.Proposed != nil {
		text += "; a contract waits for a decision"
	}
	return text
}

func writeAuthority(w io.Writer, a *rpc.BucketAuthority) {
	fmt.Fprintf(w, "%s: %s\n", a.Service, state(a))
	var t cli.Table
	if a.Desired != nil {
		t.Add("desired", a.Desired.Digest(), "since "+cli.Instant(a.Accepted))
	}
	if a.Proposed != nil {
		t.Add("waits", a.Proposed.Digest(), "since "+cli.Instant(a.ProposedAt))
	}
	t.Write(w, "  ")
	t = cli.Table{}
	for _, b := range a.Bindings {
		t.Add(b.Alias, b.Bucket, "history "+strconv.Itoa(b.History), "lasts "+lasting(b.TTLMs))
	}
	t.Write(w, "  ")
}

func newContractList(p *cli.Process) *cobra.Command {
	return ofTenant(p, "contract", command{
		Name: "list", Offline: true, Short: "List the services with what was agreed with them", Example: "--tenant acme\n--json --tenant acme",
		Run: func(c *call) error {
			all, err := c.buckets.Authorities(c.Ctx)
			if err != nil {
				return err
			}
			return c.Emit(append([]*rpc.BucketAuthority{}, all...), func(w io.Writer) {
				var t cli.Table
				for _, a := range all {
					t.Add(a.Service, state(a))
				}
				t.Write(w, "")
			})
		},
	})
}
