package governance

import (
	"encoding/binary"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
)

func newGroupRegister(p *cli.Process) *cobra.Command {
	var placement string
	return onGroup(p, "group", command{
		Name: "register", Args: []string{"GROUP", "CONTEXT"}, Short: "Register a context in a group", Example: "kitchen " + cli.ExampleDigits,
		Long: `Register a context in a group. It belongs to one group at a time: where the daemon has the
context's key, or --placement gives what "stoa context place" has printed where that is, it
is taken from a group that has it; else it must be in none, and a group for which the key
signs takes it.`,
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&placement, "placement", "", "what the context's key has signed for this group, in hex")
		},
		Run: func(c *call) (err error) {
			op := codec.GroupOp{Kind: codec.OpContextRegistered}
			if op.ContextID, err = c.contextArg(codec.GroupID{}, "CONTEXT", c.Args[1]); err == nil && placement != "" {
				err = parsePlacement(placement, &op)
			}
			if err != nil {
				return err
			}
			if err := c.propose(c.group, op); err != nil {
				return err
			}
			return c.guideRegistered(c.group, op.ContextID)
		},
	})
}

// parsePlacement takes what placementText returned.
func parsePlacement(text string, op *codec.GroupOp) error {
	b, err := cli.ParseHex("--placement", text)
	if err != nil {
		return err
	}
	if len(b) != 8+len(op.Placement) {
		return cli.Bad(fmt.Errorf("--placement: %s of hex, not %d", cli.Count(len(b), "byte"), 8+len(op.Placement)), "`stoa context place` prints one")
	}
	op.Kind, op.Number, op.Placement = codec.OpContextPlaced, binary.LittleEndian.Uint64(b), codec.Signature(b[8:])
	return nil
}
