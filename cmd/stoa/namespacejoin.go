package main

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/spf13/cobra"

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

func newNamespaceRevoke(p *process) *cobra.Command {
	return govCommand{
		name: "revoke", args: []string{"GROUP", "INVITATION"}, short: "Revoke an invitation",
		long:    "Revoke an invitation, by its id or by itself, in hex, - or @FILE.",
		example: "home @invitation",
		run: func(c *govCall) error {
			g, err := c.groupArg("GROUP", c.args[0])
			if err != nil {
				return err
			}
			b, err := c.hexArgument("INVITATION", c.args[1])
			if err != nil {
				return err
			}
			id := codec.Hash{}
			if len(b) == len(id) {
				id = codec.Hash(b)
			} else if id, err = invitationID(b); err != nil {
				return err
			}
			ns, err := c.groups.NamespaceOf(g)
			if err != nil {
				return err
			}
			return c.proposeRoot(ns, codec.RootOp{Kind: codec.RootInvitationRevoked, GroupID: g, InvitationID: id})
		},
	}.command(p, "namespace")
}

func newNamespaceJoin(p *process) *cobra.Command {
	return govCommand{
		name: "join", args: []string{"INVITATION"}, short: "Ask to join by an invitation",
		long: `Ask to join by an invitation, in hex, - or @FILE: the daemon signs the request, with an
identity that it makes where it has none. The request, in hex, is for a member: stoa
namespace admit. Then synchronize.`,
		example: "@invitation",
		run: func(c *govCall) error {
			b, err := c.hexArgument("INVITATION", c.args[0])
			if err != nil {
				return err
			}
			j, err := c.namespaces.Join(c.ctx, b)
			if err != nil {
				return err
			}
			d := map[string]string{"namespace_id": j.Namespace.String(), "identity": j.Identity.String(), "request": hex.EncodeToString(j.Request)}
			c.guide("this is for a member, who runs: stoa namespace admit REQUEST", "then synchronize: stoa namespace sync THEIR_SOCKET "+c.socket)
			return c.emit(d, func(w io.Writer) { fmt.Fprintf(w, "%x\n", j.Request) })
		},
	}.command(p, "namespace")
}

// requested returns the namespace that a request is to join, zeros if it is none.
func requested(request []byte) codec.GroupID {
	const tail = len(codec.Identity{}) + len(codec.Signature{})
	v, _ := namespace.ParseInvitation(request[:max(len(request)-tail, 0)])
	return v.NamespaceID
}

func newNamespaceAdmit(p *process) *cobra.Command {
	return govCommand{
		name: "admit", args: []string{"REQUEST"}, short: "Admit who asks to join",
		long:    "Admit who asks to join, by the request in hex, - or @FILE. It exits 5 if the invitation\nhas expired by this daemon's clock.",
		example: "@request",
		run: func(c *govCall) error {
			b, err := c.hexArgument("REQUEST", c.args[0])
			if err != nil {
				return err
			}
			done, err := c.namespaces.Admit(c.ctx, b)
			if err != nil {
				return c.explainVoid(requested(b), err)
			}
			c.guide("synchronize, so that they learn of it: stoa namespace sync " + c.socket + " THEIR_SOCKET")
			return c.proposed(done, codec.GroupID{})
		},
	}.command(p, "namespace")
}
