package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/rpc"
)

// Command describes a command that asks a daemon, or reads a directory in its
// place. C is a call of it with what the commands of its package have in common, such as
// the context that they are about; one function of the package makes such calls.
type Command[C any] struct {
	Name, Short, Long string
	Args              []string // names; those in brackets may be left out, from the last on; the last may be given more than once if it has dots
	Example           string   // what stands after the name, a line for each; one that is indented stands as it is
	Offline           bool     // it reads, and so a directory too
	Flags             func(*pflag.FlagSet)
	Check             func() error // before a daemon is looked for; nil: nothing
	Run               func(C) error
	Subs              []*cobra.Command
}

// Call is one run of such a command. Its context, with which all calls of the
// client end, ends with Ctrl-C.
type Call struct {
	*Process
	Ctx    context.Context
	Client *rpc.Client
	Find   Finder
	Args   []string
	Again  string // what a command line has, after a space, to reach the same daemon
}

// UntilInterrupted returns nil if Ctrl-C ended what returned err: that is how it ends.
func (c *Call) UntilInterrupted(err error) error {
	if c.Ctx.Err() != nil {
		return nil
	}
	return err
}

// Plainly runs a command whose package has nothing to add to a call.
func Plainly(c *Call, run func(*Call) error) error { return run(c) }

// Cobra returns the command, a subcommand of the one of that name, or of stoa. with makes of each
// call that of the package, and runs the command with it.
func (d Command[C]) Cobra(p *Process, under string, with func(*Call, func(C) error) error) *cobra.Command {
	var from ReadFlags
	var example []string
	for line := range strings.SplitSeq(d.Example, "\n") {
		if !strings.HasPrefix(line, "  ") {
			line = "  " + strings.Join(strings.Fields("stoa "+under+" "+d.Name), " ") + strings.TrimRight(" "+line, " ")
		}
		example = append(example, line)
	}
	cmd := &cobra.Command{
		Use: strings.Join(append([]string{d.Name}, d.Args...), " "), Short: d.Short, Long: d.Long, Example: strings.Join(example, "\n"), Args: withOptional(d.Args),
		RunE: func(_ *cobra.Command, args []string) error {
			if d.Check != nil {
				if err := d.Check(); err != nil {
					return err
				}
			}
			ctx, forget := Interruptible()
			defer forget()
			client, err := from.Dial(p)
			if err != nil {
				return err
			}
			defer client.Close()
			return with(&Call{Process: p, Ctx: ctx, Client: client, Find: FinderOf(ctx, client), Args: args, Again: from.again()}, d.Run)
		},
	}
	from.registerFor(cmd.Flags(), d.Offline)
	if d.Flags != nil {
		d.Flags(cmd.Flags())
	}
	cmd.AddCommand(d.Subs...)
	return cmd
}

// withOptional is Exactly for names of which those in brackets may be left out, from the
// last on, and the last may be given more than once if dots stand in it.
func withOptional(names []string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		least, most := len(names), len(names)
		for least > 0 && strings.HasPrefix(names[least-1], "[") {
			least--
		}
		if most > 0 && strings.HasSuffix(strings.TrimSuffix(names[most-1], "]"), "...") {
			most = max(most, len(args))
		}
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return Exactly(names...)(cmd, args)
	}
}
