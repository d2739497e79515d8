package governance

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
)

func newGroup(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("group", "Govern groups: members, roles, capabilities, contexts and keys",
		"  stoa group create home --name kitchen\n  stoa group add kitchen bob --role member\n  stoa group members home",
		newGroupCreate(p), newGroupDelete(p), newGroupMove(p), newGroupShow(p), newGroupMembers(p), newGroupAdd(p), newGroupRemove(p),
		newGroupLeave(p), newGroupRole(p), newGroupCaps(p), newGroupTransfer(p), newGroupTarget(p), newGroupPolicy(p), newGroupMigration(p),
		newGroupMigrated(p), newGroupUpgrade(p), newGroupAlias(p), newGroupAliases(p), newGroupContexts(p),
		newGroupRegister(p), newGroupDetach(p), newGroupJoin(p), newGroupOps(p), newGroupFollow(p), newGroupVoided(p), newGroupReissue(p),
		newGroupKeys(p), newGroupRotate(p), newGroupSigningKeys(p), governanceVerify(p, "group", "GROUP"))
	cmd.Long = `Govern groups: members, roles, capabilities, contexts and keys. Every change is an op that
this daemon signs, and is to be sent to other nodes: stoa namespace sync. A GROUP, a
MEMBER and a CONTEXT are ids in hex, or names; "me" is this daemon's identity.`
	return cmd
}

func newGroupCreate(p *cli.Process) *cobra.Command {
	var name, policy string
	return govern(p, "group", command{
		Name: "create", Args: []string{"PARENT"}, Short: "Make a group below another", Long: "Make a group below another, of which this daemon is the admin identity.",
		Example: "home --name kitchen",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&name, "name", "", "what it is called")
			fs.StringVar(&policy, "policy", "auto", "how it upgrades: auto, manual or frozen")
		},
		Run: func(c *call) error {
			above, err := c.groupArg("PARENT", c.Args[0])
			if err != nil {
				return err
			}
			op := codec.RootOp{Kind: codec.RootGroupCreated, ParentID: above}
			if op.UpgradePolicy, err = policyOf(policy); err != nil {
				return err
			}
			ns, err := c.groups.NamespaceOf(c.Ctx, above)
			if err != nil {
				return err
			}
			done, g, err := c.namespaces.Propose(c.Ctx, ns, namespace.Proposal{Root: &op})
			if err != nil {
				return c.explainVoid(ns, err)
			}
			if name != "" {
				named, _, err := c.namespaces.Propose(c.Ctx, ns, namespace.Proposal{GroupID: g,
					Group: &codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName(name))}})
				if err != nil {
					return fmt.Errorf("group %s was made, but not named: %w", g, err)
				}
				done.Wire = append(done.Wire, named.Wire...)
			}
			if err := c.proposed(done, g); err != nil {
				return err
			}
			c.Guide("to add a member of its namespace: stoa group add " + cli.Callable(name, g.String()) + " MEMBER" + c.Again)
			return nil
		},
	})
}

// groupCommand is a command on a group, its first argument, that proposes an op of it.
func groupCommand(p *cli.Process, under string, d command, op func(c *call, args []string) (codec.GroupOp, error)) *cobra.Command {
	return proposing(p, under, d, op, (*call).propose)
}

// rootCommand is groupCommand for a root op.
func rootCommand(p *cli.Process, under string, d command, op func(c *call, args []string) (codec.RootOp, error)) *cobra.Command {
	return proposing(p, under, d, op, (*call).proposeRoot)
}

// proposing is a command that makes an op of a group, its first argument, and
// of the others, and proposes it.
func proposing[Op any](p *cli.Process, under string, d command, op func(*call, []string) (Op, error),
	propose func(*call, codec.GroupID, Op) error) *cobra.Command {
	d.Args = append([]string{"GROUP"}, d.Args...)
	d.Run = func(c *call) error {
		o, err := op(c, c.Args[1:])
		if err != nil {
			return err
		}
		return propose(c, c.group, o)
	}
	return onGroup(p, under, d)
}

func newGroupDelete(p *cli.Process) *cobra.Command {
	var sure cli.Confirmation
	return onGroup(p, "group", command{
		Name: "delete", Args: []string{"GROUP"}, Short: "Delete a group, and all below it", Long: "Delete a group, and all below it, for every member. A namespace itself stays.",
		Example: "kitchen\nkitchen --yes", Flags: sure.Register,
		Run: func(c *call) error {
			ns, err := c.read.NamespaceOf(c.Ctx, c.group)
			if err != nil {
				return err
			}
			all, err := c.allOfGroup(ns, c.group)
			if err != nil {
				return err
			}
			err = sure.Confirm(c.Ctx, c.Process, func() (string, error) { return "delete, for every member, " + all, nil })
			if err == nil {
				err = c.proposeRoot(c.group, codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: c.group})
			}
			if err == nil {
				c.Guide("deleted " + all)
			}
			return err
		},
	})
}

// allOfGroup says what goes with a group.
func (c *call) allOfGroup(ns, g codec.GroupID) (string, error) {
	tree, err := c.read.Tree(c.Ctx, ns)
	if err != nil {
		return "", err
	}
	name, depth, below, members := g.String(), -1, 0, 0
	for _, t := range tree { // each after its parent
		switch {
		case t.ID == g:
			depth, members = t.Depth, t.Members
			if t.Name != "" {
				name = cli.Plain(string(t.Name))
			}
		case depth >= 0 && t.Depth > depth:
			below, members = below+1, members+t.Members
		default:
			depth = -1
		}
	}
	return fmt.Sprintf("the group %s with %s below it and %s", name, cli.Count(below, "group"), cli.Count(members, "membership")), nil
}

func newGroupMove(p *cli.Process) *cobra.Command {
	return rootCommand(p, "group", command{Name: "move", Args: []string{"PARENT"}, Short: "Move a group below another", Long: "Move a group below another of the same namespace.", Example: "kitchen home"},
		func(c *call, args []string) (codec.RootOp, error) {
			above, err := c.groupArg("PARENT", args[0])
			return codec.RootOp{Kind: codec.RootGroupReparented, GroupID: c.group, ParentID: above}, err
		})
}

func newGroupShow(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "group", command{
		Name: "show", Args: []string{"GROUP"}, Offline: true, Short: "Describe a group", Long: "Describe a group. It exits 4 if there is none.", Example: "home",
		Run: func(c *call) error {
			g, err := c.read.Show(c.Ctx, c.group)
			if err != nil {
				return err
			}
			if err := c.noteStanding(c.group, c.known); err != nil {
				return err
			}
			d := newGroupDoc(&g)
			return c.Emit(d, func(w io.Writer) { d.write(w, c.known) })
		},
	})
}

// groupDoc is a group as JSON.
type groupDoc struct {
	ID          string   `json:"group_id"`
	Namespace   string   `json:"namespace_id"`
	Parent      string   `json:"parent_id,omitempty"`
	Children    []string `json:"children"`
	Name        string   `json:"name,omitempty"`
	Admin       string   `json:"admin_identity,omitempty"`
	AppKey      string   `json:"app_key,omitempty"`
	Application string   `json:"target_application_id,omitempty"`
	Policy      string   `json:"upgrade_policy"`
	Migration   string   `json:"migration,omitempty"`
	Created     string   `json:"created_at"`
	Defaults    string   `json:"default_capabilities"`
	Members     int      `json:"members"`
	Contexts    int      `json:"contexts"`
	Sequence    uint64   `json:"sequence,string"`
	Heads       []string `json:"heads"`

	Upgrade *upgradeDoc `json:"upgrade,omitempty"`
}

func newGroupDoc(g *namespace.GroupInfo) groupDoc {
	d := groupDoc{
		ID: g.ID.String(), Namespace: g.Namespace.String(), Parent: cli.UnlessZero(g.Parent), Children: cli.Texts(g.Children), Name: string(g.Name),
		Admin: cli.UnlessZero(g.Meta.AdminIdentity), AppKey: cli.UnlessZero(g.Meta.AppKey), Application: cli.UnlessZero(g.Meta.TargetApplicationID),
		Policy: g.Meta.UpgradePolicy.String(), Migration: g.Meta.Migration.V, Created: cli.UnixTime(g.Meta.CreatedAt),
		Defaults: g.Defaults.String(), Members: g.Members, Contexts: g.Contexts, Sequence: g.Sequence, Heads: cli.Texts(g.Heads),
	}
	if g.Upgrade.Valid {
		d.Upgrade = newUpgradeDoc(&g.Upgrade.V)
	}
	return d
}

func (d groupDoc) write(w io.Writer, known cli.Names) {
	var t cli.Table
	upgrade := ""
	if d.Upgrade != nil {
		upgrade = d.Upgrade.said()
	}
	for _, row := range [][2]string{{"group", d.ID}, {"name", d.Name}, {"namespace", d.Namespace}, {"parent", d.Parent},
		{"children", strings.Join(d.Children, " ")}, {"admin", known.Of(d.Admin)}, {"application", d.Application}, {"policy", d.Policy}, {"migration", d.Migration},
		{"upgrade", upgrade},
		{"created", d.Created}, {"defaults", d.Defaults}, {"members", fmt.Sprint(d.Members)}, {"contexts", fmt.Sprint(d.Contexts)},
		{"log", cli.Count(d.Sequence, "op")}} {
		if row[1] != "" {
			t.Add(row[0], row[1])
		}
	}
	t.Write(w, "")
}
