package governance

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
)

func newGroupMembers(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "group", command{
		Name: "members", Args: []string{"GROUP"}, Offline: true, Short: "List the members of a group", Long: "List the members of a group, by identity, with their roles and capabilities.", Example: "home",
		Run: func(c *call) error {
			if err := c.noteStanding(c.group, c.known); err != nil {
				return err
			}
			for m, err := range c.read.Members(c.Ctx, c.group) {
				if err != nil {
					return err
				}
				d := struct {
					ID    string `json:"identity"`
					Name  string `json:"name,omitempty"`
					Role  string `json:"role"`
					Caps  string `json:"capabilities"`
					Nonce uint64 `json:"nonce,string"`
				}{m.Identity.String(), c.known[m.Identity.String()].Name, m.Role.String(), m.Capabilities.String(), m.Nonce}
				err := c.Emit(d, func(w io.Writer) {
					line := fmt.Sprintf("%s  %-9s", d.ID, d.Role)
					if d.Name != "" {
						line += "  " + c.known.Of(d.ID)
					}
					if m.Capabilities != 0 {
						line += "  " + d.Caps
					}
					fmt.Fprintln(w, strings.TrimRight(line, " "))
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func newGroupAdd(p *cli.Process) *cobra.Command {
	var role string
	return groupCommand(p, "group", command{
		Name: "add", Args: []string{"MEMBER"}, Short: "Add a member", Example: "kitchen bob --role member",
		Long:  "Add a member, by identity. Of a group below, the member has to be one of the namespace.",
		Flags: func(fs *pflag.FlagSet) { fs.StringVar(&role, "role", "member", "admin, member or read_only") },
	}, func(c *call, args []string) (op codec.GroupOp, err error) {
		op.Kind = codec.OpMemberAdded
		if op.Member, err = c.memberArg(c.group, "MEMBER", args[0]); err == nil {
			op.Role, err = roleOf(role)
		}
		return op, err
	})
}

func newGroupRemove(p *cli.Process) *cobra.Command {
	var recursive bool
	return onGroup(p, "group", command{
		Name: "remove", Args: []string{"GROUP", "MEMBER..."}, Short: "Remove members", Example: "home bob\nkitchen bob --recursive",
		Long: `Remove members, and give the group a new key. Removed from a namespace, they are none of
its groups any more; from another group, of that one only, but for --recursive. Several
are removed by one op, not in a namespace of version 1. In the contexts of these groups that this
daemon holds it then makes a delta that does nothing, which vouches for what is here: what who was
removed has written beside it counts no more. So synchronize first.`,
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&recursive, "recursive", false, "remove from all groups below it too, one op each")
		},
		Run: func(c *call) error {
			var gone []codec.Identity
			for _, arg := range c.Args[1:] {
				who, err := c.memberArg(c.group, "MEMBER", arg)
				if err != nil {
					return err
				}
				gone = append(gone, who)
			}
			slices.SortFunc(gone, codec.CompareID)
			gone = slices.Compact(gone)
			info, err := c.groups.Show(c.Ctx, c.group)
			if err != nil {
				return err
			}
			known, err := c.namesOf(c.group)
			if err != nil {
				return err
			}
			if recursive && info.Namespace != c.group {
				if err := c.removeBelow(info.Namespace, c.group, gone); err != nil {
					return err
				}
			}
			if err := c.propose(c.group, removal(gone)); err != nil {
				return err
			}
			closed, err := c.closeBelow(info.Namespace, c.group, recursive)
			if err != nil {
				return fmt.Errorf("they are removed, but contexts stay open to what they write on their own: %w", err)
			}
			var called []string
			for _, who := range gone {
				called = append(called, known.Of(who.String()))
			}
			c.guideRemoved(strings.Join(called, " and "), closed)
			return nil
		},
	})
}

// removal is the op by which members are removed, who are sorted.
func removal(gone []codec.Identity) codec.GroupOp {
	if len(gone) == 1 {
		return codec.GroupOp{Kind: codec.OpMemberRemoved, Member: gone[0]}
	}
	return codec.GroupOp{Kind: codec.OpMembersRemoved, Members: gone}
}

// removeBelow proposes a removal in every group below g that has some of the members.
func (c *call) removeBelow(ns, g codec.GroupID, gone []codec.Identity) error {
	below, err := c.below(ns, g)
	if err != nil {
		return err
	}
	for _, id := range below {
		var there []codec.Identity
		for _, who := range gone {
			member, err := c.isMember(id, who)
			if err != nil {
				return err
			}
			if member {
				there = append(there, who)
			}
		}
		if len(there) == 0 {
			continue
		}
		if err := c.propose(id, removal(there)); err != nil {
			return fmt.Errorf("group %s: %w", id, err)
		}
	}
	return nil
}

// below returns the groups below g, each after its parent.
func (c *call) below(ns, g codec.GroupID) (groups []codec.GroupID, err error) {
	tree, err := c.namespaces.Tree(c.Ctx, ns)
	if err != nil {
		return nil, err
	}
	in := map[codec.GroupID]bool{g: true}
	for _, t := range tree { // each after its parent
		if in[t.Parent] {
			in[t.ID] = true
			groups = append(groups, t.ID)
		}
	}
	return groups, nil
}

func newGroupLeave(p *cli.Process) *cobra.Command {
	return onGroup(p, "group", command{
		Name: "leave", Args: []string{"GROUP"}, Short: "Leave a group", Long: "Leave a group: this daemon is no member any more.", Example: "kitchen",
		Run: func(c *call) error {
			if err := c.propose(c.group, codec.GroupOp{Kind: codec.OpMemberLeft}); err != nil {
				return err
			}
			c.Guide("who stays gives the group a new key with the next change, or with stoa group rotate, once they know: stoa sync " +
				cli.Quoted(c.Client.Path()) + " THEIR_SOCKET")
			return nil
		},
	})
}

func newGroupRole(p *cli.Process) *cobra.Command {
	return groupCommand(p, "group", command{Name: "role", Args: []string{"MEMBER", "ROLE"}, Short: "Give a member a role", Example: "home bob admin",
		Long: "Give a member a role: admin, member or read_only."},
		func(c *call, args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpMemberRoleSet
			if op.Role, err = roleOf(args[1]); err == nil {
				op.Member, err = c.memberArg(c.group, "MEMBER", args[0])
			}
			return op, err
		})
}

// capabilityNames returns what capabilities are called.
func capabilityNames() []string { return strings.Split(codec.AllCapabilities.String(), "|") }

// capabilitiesOf returns the capabilities of a list of names, "all" or "none".
func capabilitiesOf(text string) (caps codec.Capabilities, err error) {
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '|' }) {
		switch name = strings.ReplaceAll(name, "-", "_"); name {
		case "none":
			continue
		case "all":
			caps |= codec.AllCapabilities
			continue
		}
		known := false
		for bit := codec.Capabilities(1); bit <= codec.AllCapabilities; bit <<= 1 {
			if bit.String() == name {
				caps, known = caps|bit, true
			}
		}
		if !known {
			return 0, cli.Bad(fmt.Errorf("no capability %q", name), "capabilities are "+strings.Join(capabilityNames(), ", ")+", all and none")
		}
	}
	return caps, nil
}

func newGroupCaps(p *cli.Process) *cobra.Command {
	var defaults, clear bool
	var in string
	return onGroup(p, "group", command{
		Name: "caps", Args: []string{"GROUP", "[MEMBER]", "[CAPABILITIES]"}, Short: "Set the capabilities of a member",
		Long: `Set exactly these capabilities of a member, separated by commas; all and none are such
too. With --defaults those with which new members begin, and no MEMBER; with --context
those that replace the member's own in that context, or with --clear do not any more.
They are: ` + strings.Join(capabilityNames()[:4], ", ") + ",\n" + strings.Join(capabilityNames()[4:], ", ") + `.`,
		Example: "home bob manage_contexts,manage_aliases\nhome --defaults none\nhome bob none --context room",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&defaults, "defaults", false, "of new members")
			fs.StringVar(&in, "context", "", "in this context")
			fs.BoolVar(&clear, "clear", false, "the member's own count in the context again")
		},
		Run: func(c *call) error {
			op, err := c.capsOp(c.group, c.Args[1:], defaults, in, clear)
			if err != nil {
				return err
			}
			return c.propose(c.group, op)
		},
	})
}

// capsOp returns the op of a caps command.
func (c *call) capsOp(g codec.GroupID, args []string, defaults bool, in string, clear bool) (op codec.GroupOp, err error) {
	want := 2
	if defaults || clear {
		want = 1
	}
	if len(args) != want {
		return op, cli.Bad(errors.New("caps wants MEMBER and CAPABILITIES; with --defaults the one, with --clear the other"),
			"`stoa group members GROUP` lists those that members have; capabilities are "+strings.Join(capabilityNames(), ", ")+", all and none")
	}
	var caps codec.Capabilities
	if !clear {
		if caps, err = capabilitiesOf(args[len(args)-1]); err != nil {
			return op, err
		}
	}
	if defaults {
		return codec.GroupOp{Kind: codec.OpDefaultCapabilitiesSet, Capabilities: caps}, nil
	}
	op = codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Capabilities: caps}
	if op.Member, err = c.memberArg(g, "MEMBER", args[0]); err != nil || in == "" {
		return op, err
	}
	op.Kind, op.Capabilities = codec.OpContextCapabilitySet, 0
	if !clear {
		op.Capability = codec.Some(codec.ContextCapability(caps))
	}
	op.ContextID, err = c.contextArg(g, "--context", in)
	return op, err
}

func newGroupTransfer(p *cli.Process) *cobra.Command {
	return groupCommand(p, "group", command{Name: "transfer", Args: []string{"MEMBER"}, Short: "Make a member the admin identity", Example: "home bob",
		Long: "Make a member the admin identity, which cannot be removed. Only the present one can."},
		func(c *call, args []string) (op codec.GroupOp, err error) {
			op.Kind = codec.OpAdminTransferred
			op.Member, err = c.memberArg(c.group, "MEMBER", args[0])
			return op, err
		})
}

func newGroupAlias(p *cli.Process) *cobra.Command {
	var member, context string
	return onGroup(p, "group", command{
		Name: "alias", Args: []string{"GROUP", "[NAME]"}, Short: "Name a group, a member or a context",
		Long:    "Name a group, or a member or a context in it; without NAME take the name away. Names are\nunique where they are looked up.",
		Example: "home house\nhome ada --member me\nhome --context room",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&member, "member", "", "name this member")
			fs.StringVar(&context, "context", "", "name this context")
		},
		Run: func(c *call) (err error) {
			op := codec.GroupOp{Kind: codec.OpGroupAliasSet}
			if len(c.Args) > 1 {
				op.Name = codec.Some(codec.AliasName(c.Args[1]))
			}
			switch {
			case member != "" && context != "":
				return cli.Bad(errors.New("--member and --context exclude each other"), "")
			case member != "":
				op.Kind = codec.OpMemberAliasSet
				op.Member, err = c.memberArg(c.group, "--member", member)
			case context != "":
				op.Kind = codec.OpContextAliasSet
				op.ContextID, err = c.contextArg(c.group, "--context", context)
			}
			if err != nil {
				return err
			}
			return c.propose(c.group, op)
		},
	})
}

func newGroupAliases(p *cli.Process) *cobra.Command {
	return onGroup(p, "group", command{
		Name: "aliases", Args: []string{"GROUP"}, Offline: true, Short: "List the names that are used in a group", Long: "List the names of a group, of its members and of its contexts.", Example: "home",
		Run: func(c *call) error {
			info, err := c.read.Show(c.Ctx, c.group)
			if err != nil {
				return err
			}
			show := func(what, name, id string) error {
				if name == "" {
					return nil
				}
				return c.Emit(map[string]string{"of": what, "name": name, "id": id},
					func(w io.Writer) { fmt.Fprintf(w, "%-7s  %s  %s\n", what, id, cli.Plain(name)) })
			}
			if err := show("group", string(info.Name), c.group.String()); err != nil {
				return err
			}
			for m, err := range c.read.Members(c.Ctx, c.group) {
				if err == nil {
					err = show("member", string(m.Name), m.Identity.String())
				}
				if err != nil {
					return err
				}
			}
			for x, err := range c.read.Contexts(c.Ctx, c.group) {
				if err == nil {
					err = show("context", string(x.Name), x.ID.String())
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}
