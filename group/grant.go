package group

import "github.com/stoadb/stoa/codec"

// right is one thing that a grant gives: to be the admin identity, to have the role
// Admin, to be a member, or (from rightBit on) a capability.
type right uint8

const (
	rightIdentity right = iota
	rightAdmin
	rightMember
	rightBit
)

// capabilityBits is how many capabilities there are.
const capabilityBits = 7

// grant is one right that an op gives to one identity. An op that gives several
// counts as so many grants: a revocation may strike some of them.
type grant struct {
	op        int   // the first that gives it, by (height, id)
	ops       []int // all that do: several only where a group was created with the same body again
	group     codec.GroupID
	namespace bool // group is the namespace itself
	who       codec.Identity
	right     right
	place     int // among those of one op that states authority: the lesser ranks above

	// What a judge has found out, and forgets when it begins anew.
	struck  bool  // strikes is known
	strikes []int // the ops that strike it
	asked   bool  // being asked about: to be met again would be a fault
	counted bool  // counts is known
	counts  bool
}

// forget makes what has been found out about g unknown.
func (g *grant) forget() { g.struck, g.strikes, g.counted, g.counts = false, nil, false, false }

// class is what a grant counts as: 0 the admin identity, 1 an Admin, 2 another.
func (g *grant) class() right { return min(g.right, rightMember) }

// above reports whether g ranks higher than o: by class, height and id. The grants of
// the namespace rank above all of its groups: what is decided there never depends on
// them, while its removals end every membership below.
func (j *judge) above(g, o *grant) bool {
	switch {
	case g.namespace != o.namespace:
		return g.namespace
	case g.class() != o.class():
		return g.class() < o.class()
	case g.op != o.op:
		return j.before(g.op, o.op)
	default:
		return g.place < o.place
	}
}

// meets reports whether g gives what n asks for.
func (g *grant) meets(n need) bool {
	if g.group != n.group || g.who != n.who {
		return false
	}
	switch {
	case g.right == rightIdentity:
		return true
	case g.right == rightAdmin:
		return n.access.Admins
	case g.right == rightMember:
		return n.access.Members
	default:
		return n.access.Caps.Has(1 << (g.right - rightBit))
	}
}

// grantsOf returns the grants of the op at place i. New members get the default
// capabilities at their op's cut; as which those are is a question of its own, they
// are all listed here.
func grantsOf(i int, op *Op, namespace codec.GroupID) (given []grant) {
	give := func(group codec.GroupID, who codec.Identity, rights ...right) {
		for _, r := range rights {
			given = append(given, grant{op: i, group: group, namespace: group == namespace, who: who, right: r})
		}
	}
	giveRole := func(group codec.GroupID, who codec.Identity, role codec.GroupMemberRole) {
		switch role {
		case codec.Admin:
			give(group, who, rightAdmin, rightMember)
		case codec.Member:
			give(group, who, rightMember)
			give(group, who, bits(codec.AllCapabilities)...)
		default:
			give(group, who, rightMember)
		}
	}
	if r := op.Root; r != nil {
		switch r.Kind {
		case codec.RootNamespaceCreated, codec.RootGroupCreated:
			give(r.GroupID, op.Signer, rightIdentity, rightMember)
		case codec.RootMemberJoined:
			giveRole(r.Invitation.GroupID, r.Member, r.Invitation.Role)
		case codec.RootAuthorityStated:
			if !r.AdminIdentity.IsZero() {
				give(r.GroupID, r.AdminIdentity, rightIdentity, rightMember)
			}
			for _, m := range r.Members {
				from := len(given)
				if give(r.GroupID, m.Member, rightMember); m.Role == codec.Admin {
					give(r.GroupID, m.Member, rightAdmin)
				}
				give(r.GroupID, m.Member, bits(m.Capabilities)...)
				for k := range given[from:] {
					given[from+k].place = 1 + from
				}
			}
		}
		return given
	}
	if op.Body == nil {
		return nil
	}
	switch b := op.Body; b.Kind {
	case codec.OpMemberAdded:
		giveRole(op.Group, b.Member, b.Role)
	case codec.OpMemberRoleSet:
		if b.Role == codec.Admin {
			give(op.Group, b.Member, rightAdmin, rightMember)
		}
	case codec.OpMemberCapabilitySet:
		give(op.Group, b.Member, bits(b.Capabilities)...)
	case codec.OpAdminTransferred:
		give(op.Group, b.Member, rightIdentity, rightMember)
		give(op.Group, op.Signer, rightAdmin, rightMember)
	}
	return given
}

func bits(c codec.Capabilities) (rights []right) {
	for i := range right(capabilityBits) {
		if c.Has(1 << i) {
			rights = append(rights, rightBit+i)
		}
	}
	return rights
}
