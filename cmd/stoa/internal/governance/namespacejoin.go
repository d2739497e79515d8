package governance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// invitationID returns the id by which an invitation is revoked.
func invitationID(b []byte) (codec.Hash, error) {
	v, err := namespace.ParseInvitation(b)
	if err != nil {
		return codec.Hash{}, err
	}
	return group.InvitationID(&v)
}

func newNamespaceRevoke(p *cli.Process) *cobra.Command {
	return onGroup(p, "namespace", command{
		Name: "revoke", Args: []string{"GROUP", "INVITATION"}, Short: "Revoke an invitation",
		Long:    "Revoke an invitation, by its id or by itself, in hex, - or @FILE.",
		Example: "home @invitation",
		Run: func(c *call) error {
			b, err := c.HexArgument("INVITATION", c.Args[1])
			if err != nil {
				return err
			}
			id := codec.Hash{}
			if len(b) == len(id) {
				id = codec.Hash(b)
			} else if id, err = invitationID(b); err != nil {
				return err
			}
			return c.proposeRoot(c.group, codec.RootOp{Kind: codec.RootInvitationRevoked, GroupID: c.group, InvitationID: id})
		},
	})
}

func newNamespaceJoin(p *cli.Process) *cobra.Command {
	return govern(p, "namespace", command{
		Name: "join", Args: []string{"INVITATION"}, Short: "Ask to join by an invitation",
		Long: `Ask to join by an invitation, in hex, - or @FILE: the daemon signs the request, with an
identity that it makes where it has none. The request, in hex, is for a member: stoa
namespace admit. Then synchronize. A daemon that is a member already, and has the
key of the group, says so and makes no request.`,
		Example: "@invitation",
		Run: func(c *call) error {
			b, err := c.HexArgument("INVITATION", c.Args[0])
			if err != nil {
				return err
			}
			if member, err := c.alreadyIn(b); member || err != nil {
				return err
			}
			j, err := c.namespaces.Join(c.Ctx, b)
			if err != nil {
				return err
			}
			d := map[string]string{"namespace_id": j.Namespace.String(), "identity": j.Identity.String(), "request": hex.EncodeToString(j.Request)}
			c.Guide("this is for a member, who runs: stoa namespace admit REQUEST (or @FILE, where it is in one)", "then synchronize: stoa sync THEIR_SOCKET "+cli.Quoted(c.Client.Path()))
			return c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "%x\n", j.Request) })
		},
	})
}

// alreadyIn reports, and says, that the daemon is a member of what an invitation is to, and
// has its key. A member that lacks the key gets it by a request.
func (c *call) alreadyIn(invitation []byte) (bool, error) {
	v, err := namespace.ParseInvitation(invitation)
	if err != nil {
		return false, nil // who takes the invitation says what it lacks
	}
	in, err := c.read.Namespace(c.Ctx, v.NamespaceID)
	if errors.Is(err, namespace.ErrNoNamespace) {
		return false, nil
	}
	if err != nil || in.Standing != namespace.Belongs {
		return false, err
	}
	member, err := c.isMember(v.GroupID, in.Identity)
	if errors.Is(err, namespace.ErrNoGroup) {
		return false, nil
	}
	if err != nil || !member {
		return false, err
	}
	held, err := c.groups.Keys(c.Ctx, v.GroupID)
	if err != nil || !slices.ContainsFunc(held, func(k namespace.KeyInfo) bool { return k.Current && k.Here }) {
		return false, err
	}
	c.Guide("this daemon is a member of "+c.shownGroup(v.GroupID)+" already, as "+in.Identity.String()+": there is nothing to ask for",
		"`stoa sync` with another daemon brings what is new")
	d := map[string]any{"namespace_id": v.NamespaceID.String(), "identity": in.Identity.String(), "member": true}
	return true, c.Emit(d, func(io.Writer) {})
}

func newNamespaceAdmit(p *cli.Process) *cobra.Command {
	return govern(p, "namespace", command{
		Name: "admit", Args: []string{"REQUEST"}, Short: "Admit who asks to join",
		Long:    "Admit who asks to join, by the request in hex, - or @FILE. It exits 5 if the invitation\nhas expired by this daemon's clock.",
		Example: "@request",
		Run: func(c *call) error {
			b, err := c.HexArgument("REQUEST", c.Args[0])
			if err != nil {
				return err
			}
			asked, who, err := namespace.ParseRequest(b)
			if err != nil {
				return err
			}
			done, err := c.namespaces.Admit(c.Ctx, b)
			if err != nil {
				return c.explainVoid(asked.NamespaceID, err)
			}
			if err := c.proposed(done, codec.GroupID{}); err != nil {
				return err
			}
			return c.guideAdmitted(&asked, who)
		},
	})
}
