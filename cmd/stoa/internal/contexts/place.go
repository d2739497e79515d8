package contexts

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
)

func newContextPlace(p *cli.Process) *cobra.Command {
	var ns string
	return onContext(p, "context", command{
		Name: "place", Args: []string{"GROUP"}, Short: "Sign that a context belongs to a group, for a member elsewhere",
		Long: `Sign that a context belongs to a group, with the context's key, which the node has that
created it, and print what "stoa group register --placement" takes: on any node whose
member may register contexts there. It goes before all that was signed before, and is
for that group alone. A group that this daemon does not know is given by its id, with
that of its namespace.`,
		Example: "home",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&ns, "namespace", "", "the namespace of the group, if the group is not known here")
		},
		Run: func(c *call) (err error) {
			var g, of codec.GroupID
			if ns == "" {
				g, err = cli.Find[codec.GroupID](c.Find, "GROUP", c.Args[0], naming.Query{Kind: naming.Group})
			} else if of, err = cli.ParseID[codec.GroupID]("--namespace", ns); err == nil {
				g, err = cli.ParseID[codec.GroupID]("GROUP", c.Args[0])
			}
			if err != nil {
				return err
			}
			op, err := c.Client.Groups().Place(c.Ctx, c.context, of, g)
			if err != nil {
				return err
			}
			text := placementText(&op)
			return c.Emit(map[string]any{"context_id": c.context.String(), "group_id": g.String(), "placement": text}, func(w io.Writer) { fmt.Fprintln(w, text) })
		},
	})
}

// placementText returns the number and the signature of a placement, as they stand in it.
func placementText(op *codec.GroupOp) string {
	return hex.EncodeToString(append(binary.LittleEndian.AppendUint64(nil, op.Number), op.Placement[:]...))
}
