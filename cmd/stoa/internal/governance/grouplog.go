package governance

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
)

func newGroupContexts(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "group", command{
		Name: "contexts", Args: []string{"GROUP"}, Offline: true, Short: "List the contexts of a group", Long: "List the contexts of a group, and who is who in them.", Example: "home",
		Run: func(c *call) error {
			for x, err := range c.read.Contexts(c.Ctx, c.group) {
				if err != nil {
					return err
				}
				if err := c.showContext(&x, c.known); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func (c *call) showContext(x *namespace.ContextInfo, known cli.Names) error {
	type memberDoc struct {
		Member   string `json:"member"`
		Identity string `json:"identity,omitempty"`
		Caps     string `json:"capability,omitempty"`
	}
	d := struct {
		ID        string      `json:"context_id"`
		Name      string      `json:"name,omitempty"`
		Migration string      `json:"last_migration,omitempty"`
		Members   []memberDoc `json:"members"`
	}{x.ID.String(), string(x.Name), x.LastMigration, []memberDoc{}}
	for _, m := range x.Members {
		doc := memberDoc{Member: m.Member.String(), Identity: cli.UnlessZero(m.Identity)}
		if m.Capability.Valid {
			doc.Caps = m.Capability.V.Capabilities().String()
		}
		d.Members = append(d.Members, doc)
	}
	return c.Emit(d, func(w io.Writer) {
		line := d.ID
		if d.Name != "" {
			line += "  " + cli.Plain(d.Name)
		}
		fmt.Fprintln(w, line)
		for _, m := range d.Members {
			line := "  " + known.Of(m.Member)
			if m.Identity != "" {
				line += " as " + m.Identity
			}
			if m.Caps != "" {
				line += " may " + m.Caps
			}
			fmt.Fprintln(w, line)
		}
	})
}

func newGroupDetach(p *cli.Process) *cobra.Command {
	return groupCommand(p, "group", command{Name: "detach", Args: []string{"CONTEXT"}, Short: "Detach a context from a group", Example: "home room",
		Long: "Detach a context from a group, with its names, identities and capabilities there."},
		func(c *call, args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpContextDetached
			op.ContextID, err = c.contextArg(c.group, "CONTEXT", args[0])
			return op, err
		})
}

func newGroupJoin(p *cli.Process) *cobra.Command {
	return groupCommand(p, "group", command{Name: "join", Args: []string{"CONTEXT", "[IDENTITY]"}, Short: "Say which identity this daemon uses in a context",
		Example: "home room me\nhome room",
		Long: `Say which identity this daemon's member uses in a context of the group. Without IDENTITY it
is the one whose private key this daemon holds for the context (ContextIdentity), which is
made where there is none.`},
		func(c *call, args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpContextJoined
			if op.ContextID, err = c.contextArg(c.group, "CONTEXT", args[0]); err != nil {
				return op, err
			}
			if len(args) > 1 {
				op.Identity, err = c.memberArg(c.group, "IDENTITY", args[1])
				return op, err
			}
			if op.Identity, err = c.contextIdentity(op.ContextID); err == nil {
				c.Guide("this daemon is " + op.Identity.String() + " in this context")
			}
			return op, err
		})
}

// showEntry prints an op of a log.
func (c *call) showEntry(e *namespace.Entry, known cli.Names, full bool) error {
	d, err := newEntryDoc(e)
	if err != nil {
		return err
	}
	c.shown.verdict(d.Verdict)
	return c.Emit(d, func(w io.Writer) {
		fmt.Fprintf(w, "%d  %s  %s: %s\n", d.Seq, d.Verdict, d.signedBy(known, full), d.said(known, full))
	})
}

func newGroupOps(p *cli.Process) *cobra.Command {
	var window namespace.Window
	var full bool
	return onGroup(p, "group", command{
		Name: "ops", Args: []string{"GROUP"}, Offline: true, Short: "List the ops of a group that this daemon could read",
		Long:    "List the ops of a group in the order in which this daemon could read them, with the\npresent verdicts." + opLines,
		Example: "home\nhome --reverse --limit 10",
		Flags: func(fs *pflag.FlagSet) {
			fullFlag(fs, &full)
			fs.Uint64Var(&window.From, "from", 0, "the number of the first op")
			fs.BoolVar(&window.Reverse, "reverse", false, "from there, or from the last, backward")
			fs.IntVar(&window.Limit, "limit", 0, "the most ops; 0: all")
		},
		Run: func(c *call) error {
			if window.Limit < 0 {
				return cli.Bad(fmt.Errorf("--limit: %d is less than 0", window.Limit), "")
			}
			known, err := c.namesOf(c.group)
			if err != nil {
				return err
			}
			for e, err := range c.read.Ops(c.Ctx, c.group, window) {
				if err == nil {
					err = c.showEntry(&e, known, full)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func newGroupFollow(p *cli.Process) *cobra.Command {
	var after uint64
	var live, full bool
	return onNamedGroup(p, "group", command{
		Name: "follow", Offline: true, Args: []string{"GROUP"}, Short: "List ops as they come, and verdicts that change",
		Long: `List the ops of a group in the order in which this daemon could read them, and with --live
go on as they come, with verdicts that change, until Ctrl-C.` + opLines,
		Example: "home --live --json",
		Flags: func(fs *pflag.FlagSet) {
			fullFlag(fs, &full)
			fs.Uint64Var(&after, "after", 0, "the number of the op to begin after")
			fs.BoolVar(&live, "live", false, "wait for more")
		},
		Run: func(c *call) error {
			for e, err := range c.groups.Follow(c.Ctx, c.group, after, live) {
				if err != nil {
					return c.UntilInterrupted(err)
				}
				if e.Entry != nil {
					err = c.showEntry(e.Entry, c.known, full)
				} else {
					d := verdictChangeDoc{e.Change.Op.String(), e.Change.Old.String(), e.Change.New.String()}
					c.shown.verdict(d.New)
					err = c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "changed  %s  %s, was %s\n", d.ID, d.New, d.Old) })
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func newGroupVoided(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "group", command{
		Name: "voided", Args: []string{"GROUP"}, Offline: true, Short: "List ops by this daemon that a revocation voided which they had not seen",
		Long: "List ops by this daemon that a revocation voided which they had not seen, the oldest first.\n" + cli.ConceptsHint + ".", Example: "home",
		Run: func(c *call) error {
			all, err := c.read.Voided(c.Ctx, c.group)
			if err != nil {
				return err
			}
			for _, v := range all {
				d := govOpDoc{ID: v.ID.String(), Kind: kindOf(v.Root, v.Body)}
				if d.Op, err = contentJSON(v.Root, v.Body); err != nil {
					return err
				}
				if err := c.Emit(map[string]any{"op_id": d.ID, "kind": d.Kind, "op": d.Op}, func(w io.Writer) { fmt.Fprintf(w, "%s  %s\n", d.ID, d.said(c.known, true)) }); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func newGroupReissue(p *cli.Process) *cobra.Command {
	return onGroup(p, "group", command{
		Name: "reissue", Args: []string{"GROUP"}, Short: "Propose again what a revocation voided",
		Long: "Propose again the ops that stoa group voided lists. It exits 5 if one can't be.", Example: "home",
		Run: func(c *call) error {
			all, err := c.groups.Reissue(c.Ctx, c.group)
			if err != nil {
				return err
			}
			failed := 0
			for _, r := range all {
				d := struct {
					Old    string `json:"op_id"`
					New    string `json:"reissued,omitempty"`
					Failed string `json:"failed,omitempty"`
				}{Old: r.Old.String(), New: cli.UnlessZero(r.New.Answer.ID)}
				said := "reissued as " + d.New
				if r.Err != nil {
					d.Failed, said = r.Err.Error(), r.Err.Error()
					failed++
				}
				if err := c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "%s  %s\n", d.Old, said) }); err != nil {
					return err
				}
			}
			if failed > 0 {
				return cli.Refused(errors.New(cli.Count(failed, "op")+" can't be proposed again"), "")
			}
			return nil
		},
	})
}
