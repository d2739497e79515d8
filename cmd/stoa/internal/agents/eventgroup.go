package agents

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

func newEventGroup(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("group", "Groups of consumers that read a stream together",
		"  stoa event group list task --tenant acme\n  stoa event group create task billing --now --tenant acme",
		newEventGroupList(p), newEventGroupCreate(p), newEventGroupMove(p), newEventGroupDelete(p))
	cmd.Long = `Groups of consumers: each sees every entry of its stream, and each entry goes to one of its consumers.
Every stream has analytics-pipeline, audit-logger, notification-service and webhook-dispatcher.`
	return cmd
}

// groupDoc is what is known of a group, as JSON.
type groupDoc struct {
	Name    string      `json:"name"`
	BuiltIn bool        `json:"built_in"`
	Last    rpc.EventID `json:"last"`
	Pending uint64      `json:"pending"`
	Lag     uint64      `json:"lag"`
}

func newEventGroupList(p *cli.Process) *cobra.Command {
	return ofTenant(p, "event group", command{
		Name: "list", Offline: true, Short: "List the groups of a stream, and how far they are", Args: []string{"STREAM"},
		Example: "task --tenant acme",
		Run: func(c *call) error {
			all, err := c.events.ListGroups(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			list, t := []groupDoc{}, cli.Table{}
			for _, g := range all {
				list = append(list, groupDoc(g))
				t.Add(g.Name, "at "+g.Last.String(), fmt.Sprintf("%d pending", g.Pending), fmt.Sprintf("%d to come", g.Lag))
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

// ofGroup returns a command that changes a group, which it has the flags of a place for.
func ofGroup(p *cli.Process, name, short, example string, change func(c *call, d rpc.Durability, at rpc.EventPlace) (done bool, said string, err error)) *cobra.Command {
	var at rpc.EventPlace
	var level cli.Durability
	return ofTenant(p, "event group", command{
		Name: name, Short: short, Args: []string{"STREAM", "NAME"}, Example: example,
		Flags: func(fs *pflag.FlagSet) {
			if name != "delete" {
				placeFlags(fs, &at)
			}
			level.Register(fs)
		},
		Run: func(c *call) error {
			done, said, err := change(c, rpc.Durability(level), at)
			if err != nil {
				return err
			}
			return c.Emit(map[string]bool{said: done}, func(w io.Writer) {
				if !done {
					said = "not " + said
				}
				fmt.Fprintf(w, "%s %s\n", c.Args[1], said)
			})
		},
	})
}

func newEventGroupCreate(p *cli.Process) *cobra.Command {
	return ofGroup(p, "create", "Make a group, unless there is one of its name", "task billing --now --tenant acme",
		func(c *call, d rpc.Durability, at rpc.EventPlace) (bool, string, error) {
			made, err := c.events.CreateGroup(c.Ctx, d, c.Args[0], c.Args[1], at)
			return made, "made", err
		})
}

func newEventGroupMove(p *cli.Process) *cobra.Command {
	return ofGroup(p, "move", "Have a group go on at a place, as where it is TRIMMED", "task audit-logger --tenant acme\ntask audit-logger --now --tenant acme",
		func(c *call, d rpc.Durability, at rpc.EventPlace) (bool, string, error) {
			return true, "moved", c.events.MoveGroup(c.Ctx, d, c.Args[0], c.Args[1], at)
		})
}

func newEventGroupDelete(p *cli.Process) *cobra.Command {
	return ofGroup(p, "delete", "Remove a group with what is pending in it", "task billing --tenant acme",
		func(c *call, d rpc.Durability, _ rpc.EventPlace) (bool, string, error) {
			existed, err := c.events.DropGroup(c.Ctx, d, c.Args[0], c.Args[1])
			return existed, "deleted", err
		})
}
