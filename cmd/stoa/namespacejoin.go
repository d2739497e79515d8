package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

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
	return daemonCommand{
		name: "revoke", args: []string{"GROUP", "INVITATION"}, short: "Revoke an invitation",
		long:    "Revoke an invitation, by its id or by itself, in hex, - or @FILE.",
		example: "home @invitation",
		run: func(c *daemonCall) error {
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
			ns, err := c.groups.NamespaceOf(c.ctx, g)
			if err != nil {
				return err
			}
			return c.proposeRoot(ns, codec.RootOp{Kind: codec.RootInvitationRevoked, GroupID: g, InvitationID: id})
		},
	}.command(p, "namespace")
}

func newNamespaceJoin(p *process) *cobra.Command {
	return daemonCommand{
		name: "join", args: []string{"INVITATION"}, short: "Ask to join by an invitation",
		long: `Ask to join by an invitation, in hex, - or @FILE: the daemon signs the request, with an
identity that it makes where it has none. The request, in hex, is for a member: stoa
namespace admit. Then synchronize. A daemon that is a member already, and has the
key of the group, says so and makes no request.`,
		example: "@invitation",
		run: func(c *daemonCall) error {
			b, err := c.hexArgument("INVITATION", c.args[0])
			if err != nil {
				return err
			}
			if member, err := c.alreadyIn(b); member || err != nil {
				return err
			}
			j, err := c.namespaces.Join(c.ctx, b)
			if err != nil {
				return err
			}
			d := map[string]string{"namespace_id": j.Namespace.String(), "identity": j.Identity.String(), "request": hex.EncodeToString(j.Request)}
			c.guide("this is for a member, who runs: stoa namespace admit REQUEST (or @FILE, where it is in one)", "then synchronize: stoa namespace sync THEIR_SOCKET "+quoted(c.socket))
			return c.emit(d, func(w io.Writer) { fmt.Fprintf(w, "%x\n", j.Request) })
		},
	}.command(p, "namespace")
}

// alreadyIn reports, and says, that the daemon is a member of what an invitation is to, and
// has its key. A member that lacks the key gets it by a request.
func (c *daemonCall) alreadyIn(invitation []byte) (bool, error) {
	v, err := namespace.ParseInvitation(invitation)
	if err != nil {
		return false, nil // who takes the invitation says what it lacks
	}
	in, err := c.read.Namespace(c.ctx, v.NamespaceID)
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
	held, err := c.groups.Keys(c.ctx, v.GroupID)
	if err != nil || !slices.ContainsFunc(held, func(k namespace.KeyInfo) bool { return k.Current && k.Here }) {
		return false, err
	}
	c.guide("this daemon is a member of "+c.shownGroup(v.GroupID)+" already, as "+in.Identity.String()+": there is nothing to ask for",
		"`stoa namespace sync` with another daemon brings what is new")
	d := map[string]any{"namespace_id": v.NamespaceID.String(), "identity": in.Identity.String(), "member": true}
	return true, c.emit(d, func(io.Writer) {})
}

func newNamespaceAdmit(p *process) *cobra.Command {
	return daemonCommand{
		name: "admit", args: []string{"REQUEST"}, short: "Admit who asks to join",
		long:    "Admit who asks to join, by the request in hex, - or @FILE. It exits 5 if the invitation\nhas expired by this daemon's clock.",
		example: "@request",
		run: func(c *daemonCall) error {
			b, err := c.hexArgument("REQUEST", c.args[0])
			if err != nil {
				return err
			}
			asked, who, err := namespace.ParseRequest(b)
			if err != nil {
				return err
			}
			done, err := c.namespaces.Admit(c.ctx, b)
			if err != nil {
				return c.explainVoid(asked.NamespaceID, err)
			}
			if err := c.proposed(done, codec.GroupID{}); err != nil {
				return err
			}
			return c.guideAdmitted(&asked, who)
		},
	}.command(p, "namespace")
}
