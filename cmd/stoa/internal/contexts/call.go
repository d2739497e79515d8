package contexts

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

// command describes a command of this package.
type command = cli.Command[*call]

// call is one run of such a command.
type call struct {
	*cli.Call
	dag     *rpc.Dag
	context codec.ContextID // of a command on one
}

// ofContexts returns a command that is about no context that is there already.
func ofContexts(p *cli.Process, under string, d command) *cobra.Command {
	return d.Cobra(p, under, func(c *cli.Call, run func(*call) error) error {
		return run(&call{Call: c, dag: c.Client.Dag()})
	})
}

// onContext returns a command about the context that its first argument names; what d
// says of arguments and examples is of those behind it.
func onContext(p *cli.Process, under string, d command) *cobra.Command {
	d.Args = slices.Concat([]string{"CONTEXT"}, d.Args)
	d.Example = "room " + strings.ReplaceAll(d.Example, "\n", "\nroom ")
	return d.Cobra(p, under, func(c *cli.Call, run func(*call) error) error {
		id, err := cli.Find[codec.ContextID](c.Find, "CONTEXT", c.Args[0], naming.Query{Kind: naming.Context})
		if err != nil {
			return err
		}
		c.Args = c.Args[1:]
		return run(&call{Call: c, dag: c.Client.Dag(), context: id})
	})
}

// names returns what the group that has the context calls its members; none where no group has it,
// and for JSON, which has ids.
func (c *call) names() (cli.Names, error) {
	if c.JSON {
		return cli.Names{}, nil
	}
	groups := c.Client.Groups()
	of, _, err := groups.Resolve(c.Ctx, c.context)
	switch {
	case errors.Is(err, namespace.ErrNoContext):
		return cli.Names{}, nil
	case err != nil:
		return nil, err
	}
	return cli.NamesIn(c.Ctx, groups, of)
}

// madeBy says for people who has made a delta: who has signed it, or else which node.
func madeBy(author codec.Identity, node string, known cli.Names) string {
	if author.IsZero() {
		return node
	}
	return known.Of(author.String())
}

// deltaArg returns the delta of the context that an argument is.
func (c *call) deltaArg(what, text string) (codec.DeltaID, error) {
	return cli.Find[codec.DeltaID](c.Find, what, text, naming.Query{Kind: naming.Delta, Context: c.context})
}

// deltaArgs is deltaArg for each of a list.
func (c *call) deltaArgs(what string, texts []string) (ids []codec.DeltaID, err error) {
	for _, text := range texts {
		id, err := c.deltaArg(what, text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
