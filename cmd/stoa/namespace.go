package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/seal"
	"github.com/stoadb/stoa/namespace"
)

func newNamespace(p *process) *cobra.Command {
	cmd := parent("namespace", "Begin, join and synchronize namespaces: signed governance",
		"  stoa namespace create --name home\n  stoa namespace tree home\n  stoa namespace sync a/stoa.sock b/stoa.sock",
		newNamespaceCreate(p), newNamespaceList(p), newNamespaceShow(p), newNamespaceTree(p), newNamespaceIdentity(p), newNamespaceInvite(p),
		newNamespaceRevoke(p), newNamespaceJoin(p), newNamespaceAdmit(p), newNamespaceOps(p), newNamespaceOp(p), newNamespaceApply(p),
		newNamespaceMissing(p), newNamespacePending(p), newNamespaceEquivocations(p), newNamespaceSync(p), newNamespaceVerify(p))
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
	return namespaceDoc{i.ID.String(), string(i.Name), unlessZero(i.Identity), i.Ops, i.Pending, i.Groups, texts(i.Heads), i.Standing.String()}
}

func (d namespaceDoc) write(w io.Writer) {
	var t table
	t.add("namespace", d.ID)
	if d.Name != "" {
		t.add("name", plain(d.Name))
	}
	if d.Identity != "" {
		t.add("identity", d.Identity)
	}
	if said := d.standing(); said != "" {
		t.add("standing", said)
	}
	t.add("ops", fmt.Sprintf("%d, %d waiting", d.Ops, d.Pending))
	t.add("groups", fmt.Sprint(d.Groups))
	for _, h := range d.Heads {
		t.add("head", h)
	}
	t.write(w, "")
}

func newNamespaceCreate(p *process) *cobra.Command {
	var name, app, target, policy string
	return daemonCommand{
		name: "create", short: "Begin a namespace", long: "Begin a namespace, of which this daemon is the admin identity, by an identity made for it.",
		example: "\n--name home",
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&name, "name", "", "what its root group is called")
			fs.StringVar(&app, "app-key", "", "the key of its application")
			fs.StringVar(&target, "application", "", "the id of its application")
			fs.StringVar(&policy, "policy", "auto", "how it upgrades: auto, manual or frozen")
		},
		run: func(c *daemonCall) (err error) {
			var n namespace.Create
			if name != "" {
				n.Alias = codec.Some(codec.AliasName(name))
			}
			if n.UpgradePolicy, err = policyOf(policy); err != nil {
				return err
			}
			if app != "" {
				if n.AppKey, err = parseID32[codec.Hash]("--app-key", app); err != nil {
					return err
				}
			}
			if target != "" {
				if n.TargetApplicationID, err = c.applicationArg("--application", target); err != nil {
					return err
				}
			}
			ns, _, err := c.namespaces.Create(c.ctx, n)
			if err != nil {
				return err
			}
			info, err := c.namespaces.Namespace(c.ctx, ns)
			if err != nil {
				return err
			}
			d := newNamespaceDoc(&info)
			if err := c.emit(d, d.write); err != nil {
				return err
			}
			c.guideBegun(&info)
			return nil
		},
	}.command(p, "namespace")
}

// policyOf returns the policy of that name.
func policyOf(name string) (codec.UpgradePolicy, error) {
	for k := codec.UpgradeAuto; k <= codec.UpgradeFrozen; k++ {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, bad(fmt.Errorf("no policy %q", name), "policies are auto, manual and frozen")
}

// roleOf returns the role of that name.
func roleOf(name string) (codec.GroupMemberRole, error) {
	for r := codec.Admin; r <= codec.ReadOnly; r++ {
		if r.String() == strings.ReplaceAll(name, "-", "_") {
			return r, nil
		}
	}
	return 0, bad(fmt.Errorf("no role %q", name), "roles are admin, member and read_only")
}

func newNamespaceList(p *process) *cobra.Command {
	return daemonCommand{
		name: "list", offline: true, short: "List namespaces", long: "List the namespaces that are here, and those that this daemon waits to enter, in the\norder of their ids.",
		run: func(c *daemonCall) error {
			for info, err := range c.read.List(c.ctx) {
				if err != nil {
					return err
				}
				d := newNamespaceDoc(&info)
				err := c.emit(d, func(w io.Writer) {
					line := fmt.Sprintf("%s  %s, %s", d.ID, count(d.Ops, "op"), count(d.Groups, "group"))
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
	}.command(p, "namespace")
}

func newNamespaceShow(p *process) *cobra.Command {
	return daemonCommand{
		name: "show", args: []string{"NAMESPACE"}, offline: true, short: "Describe a namespace", long: "Describe a namespace. It exits 4 if there is none.", example: "home",
		run: func(c *daemonCall) error {
			ns, err := c.namespaceArg(c.args[0])
			if err != nil {
				return err
			}
			info, err := c.read.Namespace(c.ctx, ns)
			if err != nil {
				return err
			}
			d := newNamespaceDoc(&info)
			return c.emit(d, d.write)
		},
	}.command(p, "namespace")
}

func newNamespaceTree(p *process) *cobra.Command {
	return daemonCommand{
		name: "tree", args: []string{"NAMESPACE"}, offline: true, short: "Show the groups of a namespace", long: "Show the groups of a namespace, each below its parent.", example: "home",
		run: func(c *daemonCall) error {
			ns, known, err := c.namespaceWithNames()
			if err != nil {
				return err
			}
			tree, err := c.read.Tree(c.ctx, ns)
			if err != nil {
				return err
			}
			if err := c.noteStanding(ns, known); err != nil {
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
				list = append(list, groupDoc{g.ID.String(), unlessZero(g.Parent), g.Depth, string(g.Name), g.Members})
			}
			return c.emit(map[string]any{"groups": list}, func(w io.Writer) {
				for _, d := range list {
					name := d.Name
					if name != "" {
						name = plain(name) + "  "
					}
					fmt.Fprintf(w, "%s%s%s  %s\n", strings.Repeat("  ", d.Depth), name, d.ID, count(d.Members, "member"))
				}
			})
		},
	}.command(p, "namespace")
}

func newNamespaceIdentity(p *process) *cobra.Command {
	var fresh bool
	var export, from, passphrase string
	return daemonCommand{
		name: "identity", offline: true, args: []string{"NAMESPACE"}, short: "Show, make, export or import this daemon's identity in a namespace",
		long: `Show, make, export or import this daemon's identity in a namespace. Only the public key
is shown. An export is sealed under the passphrase in --passphrase-file, which only its
owner may read; two daemons with one identity that sign at once equivocate.`,
		example: "home\n" + exampleID + " --new\nhome --export me.id --passphrase-file phrase",
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&fresh, "new", false, "make one, before joining")
			fs.StringVar(&export, "export", "", "the file to write it into, sealed")
			fs.StringVar(&from, "import", "", "the file to take it from")
			fs.StringVar(&passphrase, "passphrase-file", "", "a file of mode 0600 with the passphrase")
		},
		run: func(c *daemonCall) error {
			ns, err := c.namespaceArg(c.args[0])
			if err != nil {
				return err
			}
			var id codec.Identity
			switch {
			case fresh:
				id, err = c.namespaces.NewIdentity(c.ctx, ns)
			case export != "" || from != "":
				id, err = c.moveIdentity(ns, export, from, passphrase)
			default:
				id, err = c.namespaces.Identity(c.ctx, ns)
			}
			if err != nil {
				return err
			}
			return c.emit(map[string]string{"namespace_id": ns.String(), "identity": id.String()}, func(w io.Writer) { fmt.Fprintln(w, id) })
		},
	}.command(p, "namespace")
}

// moveIdentity exports an identity into a file, or imports one.
func (c *daemonCall) moveIdentity(ns codec.GroupID, export, from, passphraseFile string) (codec.Identity, error) {
	phrase, err := readSecretFile(passphraseFile)
	if err != nil {
		return codec.Identity{}, err
	}
	if from != "" {
		sealed, err := os.ReadFile(from)
		if err != nil {
			return codec.Identity{}, bad(fmt.Errorf("--import: %w", err), "")
		}
		return c.namespaces.ImportIdentity(c.ctx, ns, sealed, phrase)
	}
	sealed, err := c.namespaces.ExportIdentity(c.ctx, ns, phrase)
	if err != nil {
		return codec.Identity{}, err
	}
	f, err := os.OpenFile(export, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return codec.Identity{}, bad(fmt.Errorf("--export: %w", err), "")
	}
	if _, err := f.Write(sealed); err != nil {
		return codec.Identity{}, bad(err, "")
	}
	if err := f.Close(); err != nil {
		return codec.Identity{}, bad(err, "")
	}
	return c.namespaces.Identity(c.ctx, ns)
}

// readSecretFile returns a passphrase of a file that nobody but its owner may read.
func readSecretFile(path string) ([]byte, error) {
	if path == "" {
		return nil, bad(fmt.Errorf("an identity moves sealed"), "name a file with the passphrase: --passphrase-file")
	}
	if _, err := seal.ReadPassphraseFile(path); err != nil {
		return nil, bad(err, "")
	}
	b, err := os.ReadFile(path)
	return []byte(strings.TrimRight(string(b), "\r\n")), err
}

func newNamespaceInvite(p *process) *cobra.Command {
	var role, invitee string
	var within time.Duration
	return daemonCommand{
		name: "invite", args: []string{"GROUP"}, short: "Invite to a group",
		long: `Invite to a group, which may be the namespace itself. The invitation, in hex, is for the
one who is to join: stoa namespace join. It admits one, once.`,
		example: "home --role member\nhome --invitee bob --expires 1h",
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&role, "role", "member", "admin, member or read_only")
			fs.StringVar(&invitee, "invitee", "", "who may use it (default: whoever has it)")
			fs.DurationVar(&within, "expires", 24*time.Hour, "how long it holds, by the clock of who admits")
		},
		run: func(c *daemonCall) error {
			g, err := c.groupArg("GROUP", c.args[0])
			if err != nil {
				return err
			}
			i := namespace.Invite{GroupID: g, Expires: time.Now().Add(within)}
			if i.Role, err = roleOf(role); err != nil {
				return err
			}
			if invitee != "" {
				id, err := c.memberArg(g, "--invitee", invitee)
				if err != nil {
					return err
				}
				i.Invitee = codec.Some(id)
			}
			b, err := c.namespaces.Invite(c.ctx, i)
			if err != nil {
				return err
			}
			id, err := invitationID(b)
			if err != nil {
				return err
			}
			if err := c.guideInvited(g); err != nil {
				return err
			}
			return c.emit(map[string]string{"invitation": hex.EncodeToString(b), "invitation_id": id.String()},
				func(w io.Writer) { fmt.Fprintf(w, "%x\n", b) })
		},
	}.command(p, "namespace")
}
