package governance

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/seal"
	"github.com/stoadb/stoa/namespace"
)

func newNamespace(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("namespace", "Begin, join and synchronize namespaces: signed governance",
		"  stoa namespace create --name home\n  stoa namespace tree home\n  stoa namespace sync a/stoa.sock b/stoa.sock",
		newNamespaceCreate(p), newNamespaceList(p), newNamespaceShow(p), newNamespaceTree(p), newNamespaceIdentity(p), newNamespaceInvite(p),
		newNamespaceRevoke(p), newNamespaceJoin(p), newNamespaceAdmit(p), newNamespaceOps(p), newNamespaceOp(p), newNamespaceApply(p),
		newNamespaceFollow(p), newNamespaceResume(p), newNamespaceMissing(p), newNamespacePending(p), newNamespaceEquivocations(p), newNamespaceSync(p), newNamespaceUpgrade(p), newNamespaceVerify(p))
	cmd.Long = `Begin, join and synchronize namespaces: root groups with signed governance. A namespace
has the id of its root group, and may be named by what it is called. The daemon has one
identity in each, with which it signs; what it makes is to be sent to other nodes.`
	return cmd
}

// namespaceDoc is a namespace as JSON.
type namespaceDoc struct {
	ID       string   `json:"namespace_id"`
	Name     string   `json:"name,omitempty"`
	Identity string   `json:"identity,omitempty"`
	Ops      int      `json:"ops"`
	Pending  int      `json:"pending"`
	Groups   int      `json:"groups"`
	Heads    []string `json:"heads"`
	Standing string   `json:"standing"` // of this daemon
}

// standing says for people what this daemon is in a namespace, where that is not a
// member.
func (d *namespaceDoc) standing() string {
	switch d.Standing {
	case namespace.Awaiting.String():
		return "you wait to be admitted"
	case namespace.Removed.String():
		return "you were removed"
	}
	return ""
}

func newNamespaceDoc(i *namespace.Info) namespaceDoc {
	return namespaceDoc{i.ID.String(), string(i.Name), cli.UnlessZero(i.Identity), i.Ops, i.Pending, i.Groups, cli.Texts(i.Heads), i.Standing.String()}
}

func (d namespaceDoc) write(w io.Writer) {
	var t cli.Table
	t.Add("namespace", d.ID)
	if d.Name != "" {
		t.Add("name", cli.Plain(d.Name))
	}
	if d.Identity != "" {
		t.Add("identity", d.Identity)
	}
	if said := d.standing(); said != "" {
		t.Add("standing", said)
	}
	t.Add("ops", fmt.Sprintf("%d, %d waiting", d.Ops, d.Pending))
	t.Add("groups", fmt.Sprint(d.Groups))
	for _, h := range d.Heads {
		t.Add("head", h)
	}
	t.Write(w, "")
}

func newNamespaceCreate(p *cli.Process) *cobra.Command {
	var name, app, target, policy string
	return govern(p, "namespace", command{
		Name: "create", Short: "Begin a namespace", Long: "Begin a namespace, of which this daemon is the admin identity, by an identity made for it.",
		Example: "\n--name home",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&name, "name", "", "what its root group is called")
			fs.StringVar(&app, "app-key", "", "the key of its application")
			fs.StringVar(&target, "application", "", "the id of its application")
			fs.StringVar(&policy, "policy", "auto", "how it upgrades: auto, manual or frozen")
		},
		Run: func(c *call) (err error) {
			var n namespace.Create
			if name != "" {
				n.Alias = codec.Some(codec.AliasName(name))
			}
			if n.UpgradePolicy, err = policyOf(policy); err != nil {
				return err
			}
			if app != "" {
				if n.AppKey, err = cli.ParseID[codec.Hash]("--app-key", app); err != nil {
					return err
				}
			}
			if target != "" {
				if n.TargetApplicationID, err = c.applicationArg("--application", target); err != nil {
					return err
				}
			}
			ns, _, err := c.namespaces.Create(c.Ctx, n)
			if err != nil {
				return err
			}
			info, err := c.namespaces.Namespace(c.Ctx, ns)
			if err != nil {
				return err
			}
			d := newNamespaceDoc(&info)
			if err := c.Emit(d, d.write); err != nil {
				return err
			}
			c.guideBegun(&info)
			return nil
		},
	})
}

// policyOf returns the policy of that name.
func policyOf(name string) (codec.UpgradePolicy, error) {
	for k := codec.UpgradeAuto; k <= codec.UpgradeFrozen; k++ {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, cli.Bad(fmt.Errorf("no policy %q", name), "policies are auto, manual and frozen")
}

// roleOf returns the role of that name.
func roleOf(name string) (codec.GroupMemberRole, error) {
	for r := codec.Admin; r <= codec.ReadOnly; r++ {
		if r.String() == strings.ReplaceAll(name, "-", "_") {
			return r, nil
		}
	}
	return 0, cli.Bad(fmt.Errorf("no role %q", name), "roles are admin, member and read_only")
}

func newNamespaceList(p *cli.Process) *cobra.Command {
	return govern(p, "namespace", command{
		Name: "list", Offline: true, Short: "List namespaces", Long: "List the namespaces that are here, and those that this daemon waits to enter or was told\nto follow, in the order of their ids.",
		Run: func(c *call) error {
			for info, err := range c.read.List(c.Ctx) {
				if err != nil {
					return err
				}
				d := newNamespaceDoc(&info)
				err := c.Emit(d, func(w io.Writer) {
					line := fmt.Sprintf("%s  %s, %s", d.ID, cli.Count(d.Ops, "op"), cli.Count(d.Groups, "group"))
					for _, more := range []string{d.Name, d.standing()} {
						if more != "" {
							line += "  " + more
						}
					}
					fmt.Fprintln(w, line)
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func newNamespaceShow(p *cli.Process) *cobra.Command {
	return onGroup(p, "namespace", command{
		Name: "show", Args: []string{"NAMESPACE"}, Offline: true, Short: "Describe a namespace", Long: "Describe a namespace. It exits 4 if there is none.", Example: "home",
		Run: func(c *call) error {
			info, err := c.read.Namespace(c.Ctx, c.group)
			if err != nil {
				return err
			}
			d := newNamespaceDoc(&info)
			return c.Emit(d, d.write)
		},
	})
}

func newNamespaceTree(p *cli.Process) *cobra.Command {
	return onNamedGroup(p, "namespace", command{
		Name: "tree", Args: []string{"NAMESPACE"}, Offline: true, Short: "Show the groups of a namespace", Long: "Show the groups of a namespace, each below its parent.", Example: "home",
		Run: func(c *call) error {
			tree, err := c.read.Tree(c.Ctx, c.group)
			if err != nil {
				return err
			}
			if err := c.noteStanding(c.group, c.known); err != nil {
				return err
			}
			type groupDoc struct {
				ID      string `json:"group_id"`
				Parent  string `json:"parent_id,omitempty"`
				Depth   int    `json:"depth"`
				Name    string `json:"name,omitempty"`
				Members int    `json:"members"`
			}
			list := []groupDoc{}
			for _, g := range tree {
				list = append(list, groupDoc{g.ID.String(), cli.UnlessZero(g.Parent), g.Depth, string(g.Name), g.Members})
			}
			return c.Emit(map[string]any{"groups": list}, func(w io.Writer) {
				for _, d := range list {
					name := d.Name
					if name != "" {
						name = cli.Plain(name) + "  "
					}
					fmt.Fprintf(w, "%s%s%s  %s\n", strings.Repeat("  ", d.Depth), name, d.ID, cli.Count(d.Members, "member"))
				}
			})
		},
	})
}

func newNamespaceIdentity(p *cli.Process) *cobra.Command {
	var fresh bool
	var export, from, passphrase string
	return onGroup(p, "namespace", command{
		Name: "identity", Offline: true, Args: []string{"NAMESPACE"}, Short: "Show, make, export or import this daemon's identity in a namespace",
		Long: `Show, make, export or import this daemon's identity in a namespace. Only the public key
is shown. An export is sealed under the passphrase in --passphrase-file, which only its
owner may read; two daemons with one identity that sign at once equivocate.`,
		Example: "home\n" + cli.ExampleID + " --new\nhome --export me.id --passphrase-file phrase",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&fresh, "new", false, "make one, before joining")
			fs.StringVar(&export, "export", "", "the file to write it into, sealed")
			fs.StringVar(&from, "import", "", "the file to take it from")
			fs.StringVar(&passphrase, "passphrase-file", "", "a file of mode 0600 with the passphrase")
		},
		Run: func(c *call) (err error) {
			var id codec.Identity
			switch {
			case fresh:
				id, err = c.namespaces.NewIdentity(c.Ctx, c.group)
			case export != "" || from != "":
				id, err = c.moveIdentity(c.group, export, from, passphrase)
			default:
				id, err = c.namespaces.Identity(c.Ctx, c.group)
			}
			if err != nil {
				return err
			}
			return c.Emit(map[string]string{"namespace_id": c.group.String(), "identity": id.String()}, func(w io.Writer) { fmt.Fprintln(w, id) })
		},
	})
}

// moveIdentity exports an identity into a file, or imports one.
func (c *call) moveIdentity(ns codec.GroupID, export, from, passphraseFile string) (codec.Identity, error) {
	phrase, err := readSecretFile(passphraseFile)
	if err != nil {
		return codec.Identity{}, err
	}
	if from != "" {
		sealed, err := os.ReadFile(from)
		if err != nil {
			return codec.Identity{}, cli.Bad(fmt.Errorf("--import: %w", err), "")
		}
		return c.namespaces.ImportIdentity(c.Ctx, ns, sealed, phrase)
	}
	sealed, err := c.namespaces.ExportIdentity(c.Ctx, ns, phrase)
	if err != nil {
		return codec.Identity{}, err
	}
	f, err := os.OpenFile(export, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return codec.Identity{}, cli.Bad(fmt.Errorf("--export: %w", err), "")
	}
	if _, err := f.Write(sealed); err != nil {
		return codec.Identity{}, cli.Bad(err, "")
	}
	if err := f.Close(); err != nil {
		return codec.Identity{}, cli.Bad(err, "")
	}
	return c.namespaces.Identity(c.Ctx, ns)
}

// readSecretFile returns a passphrase of a file that nobody but its owner may read.
func readSecretFile(path string) ([]byte, error) {
	if path == "" {
		return nil, cli.Bad(fmt.Errorf("an identity moves sealed"), "name a file with the passphrase: --passphrase-file")
	}
	if _, err := seal.ReadPassphraseFile(path); err != nil {
		return nil, cli.Bad(err, "")
	}
	b, err := os.ReadFile(path)
	return []byte(strings.TrimRight(string(b), "\r\n")), err
}

func newNamespaceInvite(p *cli.Process) *cobra.Command {
	var role, invitee string
	var within time.Duration
	return onGroup(p, "namespace", command{
		Name: "invite", Args: []string{"GROUP"}, Short: "Invite to a group",
		Long: `Invite to a group, which may be the namespace itself. The invitation, in hex, is for the
one who is to join: stoa namespace join. It admits one, once.`,
		Example: "home --role member\nhome --invitee bob --expires 1h",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&role, "role", "member", "admin, member or read_only")
			fs.StringVar(&invitee, "invitee", "", "who may use it (default: whoever has it)")
			fs.DurationVar(&within, "expires", 24*time.Hour, "how long it holds, by the clock of who admits")
		},
		Run: func(c *call) (err error) {
			i := namespace.Invite{GroupID: c.group, Expires: time.Now().Add(within)}
			if i.Role, err = roleOf(role); err != nil {
				return err
			}
			if invitee != "" {
				id, err := c.memberArg(c.group, "--invitee", invitee)
				if err != nil {
					return err
				}
				i.Invitee = codec.Some(id)
			}
			b, err := c.namespaces.Invite(c.Ctx, i)
			if err != nil {
				return err
			}
			id, err := invitationID(b)
			if err != nil {
				return err
			}
			if err := c.guideInvited(c.group); err != nil {
				return err
			}
			return c.Emit(map[string]string{"invitation": hex.EncodeToString(b), "invitation_id": id.String()},
				func(w io.Writer) { fmt.Fprintf(w, "%x\n", b) })
		},
	})
}
