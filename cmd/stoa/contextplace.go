package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
)

func newContextPlace(p *process) *cobra.Command {
	var ns string
	return daemonCommand{
		about: aboutContext,
		name:  "place", args: []string{"GROUP"}, short: "Sign that a context belongs to a group, for a member elsewhere",
		long: `Sign that a context belongs to a group, with the context's key, which the node has that
created it, and print what "stoa group register --placement" takes: on any node whose
member may register contexts there. It goes before all that was signed before, and is
for that group alone. A group that this daemon does not know is given by its id, with
that of its namespace.`,
		example: "home",
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&ns, "namespace", "", "the namespace of the group, if the group is not known here")
		},
		run: func(c *daemonCall) (err error) {
			var g, of codec.GroupID
			if ns == "" {
				g, err = find[codec.GroupID](c.find, "GROUP", c.args[0], naming.Query{Kind: naming.Group})
			} else if of, err = parseID32[codec.GroupID]("--namespace", ns); err == nil {
				g, err = parseID32[codec.GroupID]("GROUP", c.args[0])
			}
			if err != nil {
				return err
			}
			op, err := c.groups.Place(c.ctx, c.context, of, g)
			if err != nil {
				return err
			}
			text := placementText(&op)
			return c.emit(map[string]any{"context_id": c.context.String(), "group_id": g.String(), "placement": text}, func(w io.Writer) { fmt.Fprintln(w, text) })
		},
	}.command(p, "context")
}

// placementText returns the number and the signature of a placement, as they stand in it.
func placementText(op *codec.GroupOp) string {
	return hex.EncodeToString(append(binary.LittleEndian.AppendUint64(nil, op.Number), op.Placement[:]...))
}

// parsePlacement takes what placementText returned.
func parsePlacement(text string, op *codec.GroupOp) error {
	b, err := parseHex("--placement", text)
	if err != nil {
		return err
	}
	if len(b) != 8+len(op.Placement) {
		return bad(fmt.Errorf("--placement: %s of hex, not %d", count(len(b), "byte"), 8+len(op.Placement)), "`stoa context place` prints one")
	}
	op.Kind, op.Number, op.Placement = codec.OpContextPlaced, binary.LittleEndian.Uint64(b), codec.Signature(b[8:])
	return nil
}

func newGroupRegister(p *process) *cobra.Command {
	var placement string
	return daemonCommand{
		name: "register", args: []string{"GROUP", "CONTEXT"}, short: "Register a context in a group", example: "kitchen " + exampleDigits,
		long: `Register a context in a group. It belongs to one group at a time: where the daemon has the
context's key, or --placement gives what "stoa context place" has printed where that is, it
is taken from a group that has it; else it must be in none, and a group for which the key
signs takes it.`,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&placement, "placement", "", "what the context's key has signed for this group, in hex")
		},
		run: func(c *daemonCall) error {
			g, err := c.groupArg("GROUP", c.args[0])
			if err != nil {
				return err
			}
			op := codec.GroupOp{Kind: codec.OpContextRegistered}
			if op.ContextID, err = c.contextArg(codec.GroupID{}, "CONTEXT", c.args[1]); err == nil && placement != "" {
				err = parsePlacement(placement, &op)
			}
			if err != nil {
				return err
			}
			if err := c.propose(g, op); err != nil {
				return err
			}
			return c.guideRegistered(g, op.ContextID)
		},
	}.command(p, "group")
}
