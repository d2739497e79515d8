package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

// contextCommand describes a command that works on one context of a daemon,
// which its first argument names.
type contextCommand struct {
	name, short, long string
	offline           bool     // it reads, and so a directory too
	creates           bool     // the context has a whole id, which nothing here need have; without one the daemon makes one
	args              []string // what follows the context; empty: nothing
	example           string   // what stands after the context in the example
	flags             func(*pflag.FlagSet)
	check             func() error // before a daemon is looked for; nil: nothing
	run               func(*contextCall) error
	subs              []*cobra.Command
}

// contextCall is one run of such a command. Its context ends with Ctrl-C.
type contextCall struct {
	*process
	ctx    context.Context
	client *rpc.Client
	dag    *rpc.Dag
	find   finder
	again  string // what a command line has, after a space, to reach the same daemon
	id     codec.ContextID
	fresh  bool     // there is no id: it is to be made
	args   []string // what followed the context
}

// deltaArg returns the delta of the context that an argument is.
func (c *contextCall) deltaArg(what, text string) (codec.DeltaID, error) {
	return find[codec.DeltaID](c.find, what, text, naming.Query{Kind: naming.Delta, Context: c.id})
}

// deltaArgs is deltaArg for each of a list.
func (c *contextCall) deltaArgs(what string, texts []string) (ids []codec.DeltaID, err error) {
	for _, text := range texts {
		id, err := c.deltaArg(what, text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// exampleContext is the context of examples.
func (c *contextCommand) exampleContext() string {
	if c.creates {
		return "" // the daemon makes its id
	}
	return "room"
}

// command returns the command, a subcommand of the one of that name.
func (c contextCommand) command(p *process, under string) *cobra.Command {
	var from recordFlags
	names := append([]string{"CONTEXT"}, c.args...)
	use, count := c.name+" "+strings.Join(names, " "), exactly(names...)
	if c.creates {
		use, count = c.name+" [CONTEXT]", atMostOne("CONTEXT")
	}
	var example []string
	for line := range strings.SplitSeq(c.example, "\n") {
		example = append(example, strings.TrimRight("  stoa "+under+" "+c.name+strings.TrimRight(" "+c.exampleContext(), " ")+" "+line, " "))
	}
	cmd := &cobra.Command{
		Use: use, Short: c.short, Long: c.long, Example: strings.Join(example, "\n"), Args: count,
		RunE: func(_ *cobra.Command, args []string) error {
			fresh := len(args) == 0
			if fresh {
				args = []string{""}
			}
			if c.check != nil {
				if err := c.check(); err != nil {
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
			view := client.WithContext(ctx)
			return c.on(&contextCall{process: p, ctx: ctx, client: client, dag: view.Dag(), find: view.Find, again: from.again(), fresh: fresh, args: args[1:]}, args[0])
		},
	}
	from.registerFor(cmd.Flags(), c.offline)
	if c.flags != nil {
		c.flags(cmd.Flags())
	}
	cmd.AddCommand(c.subs...)
	return cmd
}

// on runs the command on the context that its first argument is.
func (c *contextCommand) on(call *contextCall, context string) (err error) {
	switch {
	case call.fresh:
	case c.creates:
		if call.id, err = parseID32[codec.ContextID]("CONTEXT", context); err != nil {
			err = bad(err, "without an id the daemon makes one; a name is given afterwards: `stoa group register` and `stoa group alias --context`")
		}
	default:
		call.id, err = find[codec.ContextID](call.find, "CONTEXT", context, naming.Query{Kind: naming.Context})
	}
	if err != nil {
		return err
	}
	return c.run(call)
}

// atMostOne refuses more than one argument.
func atMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return exactly(name)(cmd, args)
		}
		return nil
	}
}

// atLeast refuses fewer arguments than those that names lists.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return exactly(names...)(cmd, args)
		}
		return nil
	}
}

// parseID32 returns the id that an argument is in hex.
func parseID32[T ~[32]byte](what, text string) (id T, err error) {
	b, err := parseHex(what, text)
	if err != nil {
		return id, err
	}
	if len(b) != len(id) {
		return id, bad(fmt.Errorf("%s: %s of hex, not %d", what, count(len(b), "byte"), len(id)), "")
	}
	return T(b), nil
}

// list emits each of what a page after page yields, as a line of JSON or of
// text, and then says how many there were.
func list[T any](c *contextCall, noun string, all func(yield func(T, error) bool), doc func(T) (any, error), text func(io.Writer, T)) error {
	n := 0
	for v, err := range all {
		if err != nil {
			return err
		}
		n++
		d, err := doc(v)
		if err != nil {
			return err
		}
		if err := c.emit(d, func(w io.Writer) { text(w, v) }); err != nil {
			return err
		}
	}
	if !c.json {
		fmt.Fprintln(c.stderr, count(n, noun))
	}
	return nil
}
