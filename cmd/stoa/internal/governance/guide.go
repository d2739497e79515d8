package governance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// guideBegun says what is done first in a namespace that is new.
func (c *call) guideBegun(info *namespace.Info) {
	home := cli.Callable(string(info.Name), info.ID.String())
	c.Guide("to be shown by name: stoa group alias "+home+" NAME --member me"+c.Again,
		"to ask others in:    stoa namespace invite "+home+c.Again)
}

// guideAdmitted says who came in by an invitation, and what to do so that they learn of it.
func (c *call) guideAdmitted(v *codec.Invitation, who codec.Identity) error {
	known, err := c.namesOf(v.NamespaceID)
	if err != nil {
		return err
	}
	home, id := known.Called(v.NamespaceID.String()), who.String()
	c.Guide(known.Of(id) + " is a member of " + c.shownGroup(v.GroupID))
	if _, named := known[id]; !named {
		c.Guide("to name them: stoa group alias " + home + " NAME --member " + id[:cli.ShortDigits] + c.Again)
	}
	c.Guide("synchronize, so that they learn of it: stoa sync " + cli.Quoted(c.Client.Path()) + " THEIR_SOCKET")
	return nil
}

// shownGroup returns the name of a group, or its id.
func (c *call) shownGroup(g codec.GroupID) string {
	if known, err := c.namesOf(g); err == nil {
		return known.Of(g.String())
	}
	return g.String()
}

// guideRemoved says what a removal does, and what it does not.
func (c *call) guideRemoved(who string, closed int) {
	c.Guide("what members sign from here on is under a new key, which " + who + " does not get; what they have they keep")
	if closed > 0 {
		c.Guide(cli.Count(closed, "context") + " here closed: of what " + who + " may have written since, only what is here counts")
	}
	c.Guide(
		"synchronize, so that the others learn of it: stoa sync " + cli.Quoted(c.Client.Path()) + " THEIR_SOCKET")
}

// guideDeltas says how deltas go from one daemon to another, which ops do not take along.
func guideDeltas(p *cli.Process, from, to string) {
	p.Guide("these are ops only; the deltas of contexts go along with stoa sync " + cli.Quoted(from) + " " + cli.Quoted(to))
}

// guideRegistered says how a context gets a name in its group.
func (c *call) guideRegistered(g codec.GroupID, id codec.ContextID) error {
	known, err := c.namesOf(g)
	if err != nil {
		return err
	}
	if _, named := known[id.String()]; !named {
		c.Guide("to name it for all members: stoa group alias " + known.Called(g.String()) + " NAME --context " + id.String()[:cli.ShortDigits] + c.Again)
	}
	return nil
}

// guideInvited says what to do with an invitation to a group.
func (c *call) guideInvited(g codec.GroupID) error {
	ns, err := c.read.NamespaceOf(c.Ctx, g)
	if err != nil {
		return err
	}
	if ns != g {
		known, err := c.namesOf(ns)
		if err != nil {
			return err
		}
		c.Guide(fmt.Sprintf("this is of use only to a member of %s: others are invited there first, with stoa namespace invite %s%s",
			known.Of(ns.String()), known.Called(ns.String()), c.Again))
	}
	c.Guide("this is for who is to join, who runs: stoa namespace join INVITATION (or @FILE, where it is in one)")
	return nil
}

// noteStanding tells who was removed from a group or its namespace that they were, by
// whom, and what they hold still: what is shown is what was known then. Ops carry no
// clock, so the op is named and not a time.
func (c *call) noteStanding(g codec.GroupID, known cli.Names) error {
	if c.JSON {
		return nil
	}
	ns, err := c.read.NamespaceOf(c.Ctx, g)
	if err != nil {
		return err
	}
	info, err := c.read.Namespace(c.Ctx, ns)
	if err != nil || info.Identity.IsZero() {
		return err
	}
	if info.Standing == namespace.Removed {
		by, err := c.removedBy(ns, info.Identity, known)
		c.Guide(fmt.Sprintf("you were removed from this namespace%s: what came later is not here; you still hold its %s and %s of that time, and the keys of then",
			by, cli.Count(info.Ops, "op"), cli.Count(info.Groups, "group")))
		return err
	}
	if member, err := c.isMember(g, info.Identity); member || err != nil {
		return err
	}
	by, err := c.removedBy(g, info.Identity, known)
	if by != "" {
		c.Guide("you were removed from this group" + by + ": you still hold its keys of that time, and what they open; what is sealed later you can't read")
	}
	return err
}

// removedBy says by whom, and by what op, somebody was removed from a group, or that they
// left; empty: no op that can be read here says so.
func (c *call) removedBy(g codec.GroupID, who codec.Identity, known cli.Names) (string, error) {
	for e, err := range c.read.Ops(c.Ctx, g, namespace.Window{Reverse: true}) {
		if err != nil {
			return "", err
		}
		if e.Verdict.Outcome != group.Effective {
			continue
		}
		op := e.ID.String()[:cli.ShortDigits]
		switch o := &e.Op.Op; {
		case o.Kind == codec.OpMemberRemoved && o.Member == who, o.Kind == codec.OpMembersRemoved && slices.Contains(o.Members, who):
			return fmt.Sprintf(" by %s, op %s", known.Of(e.Op.Signer.String()), op), nil
		case o.Kind == codec.OpMemberLeft && e.Op.Signer == who:
			return fmt.Sprintf(" as you asked, op %s", op), nil
		}
	}
	return "", nil
}

// voidHints say what there is to do about an op that would have no effect.
var voidHints = map[group.Reason]string{
	group.NotInNamespace: "who enters a group has to be a member of its namespace first: `stoa namespace invite NAMESPACE` invites there",
	group.NoRight:        "`stoa group members GROUP` lists who has which role and capabilities; an admin gives them: `stoa group role`, `stoa group caps`",
	group.Revoked:        "`stoa group members GROUP` lists who has which role and capabilities; an admin gives them: `stoa group role`, `stoa group caps`",
	group.AdminIdentity:  "`stoa group transfer GROUP MEMBER` makes another member the admin identity first",
	group.Outranked:      "an admin ranks above those who became one later, and above itself: who made this one an admin can, and `stoa group leave` is for oneself",
	group.Consumed:       "an invitation admits one, once: `stoa namespace invite` makes another",
	group.Withdrawn:      "`stoa namespace invite` makes another invitation",
	group.NotMember:      "`stoa group members GROUP` lists the members",
	group.NameTaken:      "`stoa group aliases GROUP` lists the names that are used, and without NAME `stoa group alias` takes one away",
	group.NoContext:      "`stoa group contexts GROUP` lists the contexts, and `stoa group register` registers one",
}

// explainVoid gives an op that would have no effect the hint that its reason asks for.
func (c *call) explainVoid(ns codec.GroupID, err error) error {
	if !errors.Is(err, namespace.ErrNotEffective) && !errors.Is(err, namespace.ErrNoKey) {
		return err
	}
	if info, failed := c.read.Namespace(c.Ctx, ns); failed == nil && info.Standing == namespace.Removed {
		return cli.Refused(err, "you were removed from this namespace: a member can invite you again")
	}
	for reason, hint := range voidHints {
		if strings.HasSuffix(err.Error(), ": "+reason.String()) {
			return cli.Refused(err, hint)
		}
	}
	return err
}
