package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

// daemonCommand describes a command that asks a daemon.
type daemonCommand struct {
	name, short, long string
	about             subject
	args              []string // names; those in brackets may be left out, from the last on; one with dots may be given more than once
	example           string   // what stands after the name, a line for each; after the context, if it is about one
	offline           bool     // it reads, and so a directory too
	flags             func(*pflag.FlagSet)
	check             func() error // before a daemon is looked for; nil: nothing
	run               func(*daemonCall) error
	subs              []*cobra.Command
}

// subject is what a command is about beside its arguments.
type subject int

// What commands are about.
const (
	aboutAny        subject = iota
	aboutContext            // the context that the first argument names
	aboutNewContext         // the context that the first argument is the id of; without one the daemon makes it
	aboutTenant             // the tenant that --tenant names
)

// governance is what is read of namespaces and groups.
type governance struct {
	*rpc.Namespaces
	*rpc.Groups
}

// daemonCall is one run of such a command. Its context, with which all calls of the
// client end, ends with Ctrl-C.
type daemonCall struct {
	*process
	ctx    context.Context
	client *rpc.Client
	find   finder
	args   []string // without the context
	socket string   // of the daemon
	again  string   // what a command line has, after a space, to reach the same daemon

	dag     *rpc.Dag
	context codec.ContextID
	fresh   bool // there is no id: it is to be made

	namespaces *rpc.Namespaces
	groups     *rpc.Groups
	read       governance
	shown      shownWords

	kv     *rpc.KV
	tenant string // "": the one that this user is bound to
}

func newDaemonCall(ctx context.Context, p *process, client *rpc.Client, args []string) *daemonCall {
	namespaces, groups := client.Namespaces(), client.Groups()
	return &daemonCall{process: p, ctx: ctx, client: client, find: finderOf(ctx, client), args: args, socket: client.Path(),
		dag: client.Dag(), namespaces: namespaces, groups: groups, read: governance{namespaces, groups}}
}

// arg returns an argument that may have been left out.
func (c *daemonCall) arg(n int) string {
	if n < len(c.args) {
		return c.args[n]
	}
	return ""
}

// untilInterrupted returns nil if Ctrl-C ended what returned err: that is how it ends.
func (c *daemonCall) untilInterrupted(err error) error {
	if c.ctx.Err() != nil {
		return nil
	}
	return err
}

// command returns the command, a subcommand of the one of that name.
func (d daemonCommand) command(p *process, under string) *cobra.Command {
	var from recordFlags
	var tenant string
	line := "  stoa " + under + " " + d.name + " "
	names := d.args
	switch d.about {
	case aboutContext:
		line, names = line+"room ", slices.Concat([]string{"CONTEXT"}, d.args)
	case aboutNewContext:
		names = []string{"[CONTEXT]"}
	}
	var example []string
	for rest := range strings.SplitSeq(d.example, "\n") {
		example = append(example, strings.TrimRight(line+rest, " "))
	}
	cmd := &cobra.Command{
		Use: strings.Join(append([]string{d.name}, names...), " "), Short: d.short, Long: d.long, Example: strings.Join(example, "\n"), Args: withOptional(names),
		RunE: func(_ *cobra.Command, args []string) error {
			if d.check != nil {
				if err := d.check(); err != nil {
					return err
				}
			}
			ctx, forget := interruptible()
			defer forget()
			client, err := from.dial(p)
			if err != nil {
				return err
			}
			defer client.Close()
			c := newDaemonCall(ctx, p, client, args)
			c.again = from.again()
			defer func() { c.shown.explain(p) }()
			if c.tenant = tenant; tenant == "" {
				c.tenant = p.getenv("STOA_TENANT")
			}
			c.kv = c.client.KV(c.tenant)
			if err := c.cutContext(d.about); err != nil {
				return err
			}
			return d.run(c)
		},
	}
	from.registerFor(cmd.Flags(), d.offline)
	if d.about == aboutTenant {
		cmd.Flags().StringVar(&tenant, "tenant", "", "the tenant (default $STOA_TENANT, else the one that the daemon binds this user to)")
	}
	if d.flags != nil {
		d.flags(cmd.Flags())
	}
	cmd.AddCommand(d.subs...)
	return cmd
}

// cutContext takes the context from the arguments of a command that is about one.
func (c *daemonCall) cutContext(about subject) (err error) {
	switch {
	case about == aboutNewContext && len(c.args) == 0:
		c.fresh = true
		return nil
	case about == aboutNewContext:
		if c.context, err = parseID32[codec.ContextID]("CONTEXT", c.args[0]); err != nil {
			return bad(err, "without an id the daemon makes one; a name is given afterwards: `stoa group register` and `stoa group alias --context`")
		}
	case about == aboutContext:
		if c.context, err = find[codec.ContextID](c.find, "CONTEXT", c.args[0], naming.Query{Kind: naming.Context}); err != nil {
			return err
		}
	default:
		return nil
	}
	c.args = c.args[1:]
	return nil
}

// withOptional is exactly for names of which those in brackets may be left out, from the
// last on, and the last may be given more than once if dots stand in it.
func withOptional(names []string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		least, most := len(names), len(names)
		for least > 0 && strings.HasPrefix(names[least-1], "[") {
			least--
		}
		if most > 0 && strings.HasSuffix(names[most-1], "...]") {
			most = max(most, len(args))
		}
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return exactly(names...)(cmd, args)
	}
}
