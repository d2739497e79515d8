package group

import (
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// targets returns whom op is about, sorted, and in which group.
func (op *Op) targets() ([]codec.Identity, codec.GroupID) {
	switch {
	case op.Root != nil && op.Root.Kind == codec.RootMemberJoined:
		return []codec.Identity{op.Root.Member}, op.Root.Invitation.GroupID
	case op.Root != nil:
		return nil, op.Root.GroupID
	case op.Body == nil:
		return nil, op.Group
	case op.Body.Kind == codec.OpMemberLeft:
		return []codec.Identity{op.Signer}, op.Group
	case op.Body.Kind == codec.OpMembersRemoved:
		return op.Body.Members, op.Group
	default:
		return []codec.Identity{op.Body.Member}, op.Group
	}
}

// removes reports whether op ends the membership of its targets.
func (op *Op) removes() bool {
	if op.Body == nil {
		return false
	}
	k := op.Body.Kind
	return k == codec.OpMemberRemoved || k == codec.OpMembersRemoved || k == codec.OpMemberLeft
}

// dethrones reports whether op would remove or demote its target.
func (op *Op) dethrones() bool {
	if op.Body == nil {
		return false
	}
	return op.removes() || op.Body.Kind == codec.OpMemberRoleSet && op.Body.Role != codec.Admin
}

// dethronesOthers reports whether op, unless it is of version 1, dethrones otherwise than by leaving:
// what has no effect on an Admin who ranks above.
func (op *Op) dethronesOthers() bool {
	return op.dethrones() && op.Body.Kind != codec.OpMemberLeft && op.Version != codec.OpVersion1
}

// admits reports whether op gives its target standing in a group, which below the
// namespace only its members may have.
func (op *Op) admits() bool {
	if op.Root != nil {
		return op.Root.Kind == codec.RootMemberJoined
	}
	k := op.Body.Kind
	return k == codec.OpMemberAdded || k == codec.OpAdminTransferred || gives(op.Body, codec.Admin)
}

// strikes returns the ops that strike g.
func (j *judge) strikes(g *grant) []int {
	if g.struck {
		return g.strikes
	}
	if g.asked {
		panic(fmt.Sprintf("group: asking about the grant of op %s led back to it", j.ops[g.op].ID))
	}
	g.asked = true
	found := []int{}
	for _, list := range [][]int{j.revokers[g.who], j.statements} {
		for _, r := range list {
			if j.strikesFromAbove(r, g) {
				found = append(found, r)
			}
		}
	}
	if own := j.ownStrike(g, found); own >= 0 {
		found = append(found, own)
	}
	g.struck, g.strikes, g.asked = true, found, false
	return found
}

// strikesFromAbove reports whether r strikes g under a grant that ranks above g, and
// g does not descend from r. A leaving does so too, to what its signer has besides the
// grant that it is made under.
func (j *judge) strikesFromAbove(r int, g *grant) bool {
	if j.after(g, r) || !j.aims(r, g) {
		return false
	}
	n := needs(j.ops[r], j.namespace)[0]
	least := j.leastToStrike(r, g)
	return j.any(j.grantsFor(n, r), func(q *grant) bool { return j.above(q, least) && j.under(r, n, q) }) && j.broken(r) == 0
}

// leastToStrike returns what r has to be above to strike g: g, but of a membership that came with
// the role Admin that role, unless it is gone without r. Who keeps the role keeps the
// membership too: it is what is left when the role is taken away on top of r, and groups below
// may have taken in by then who has it.
func (j *judge) leastToStrike(r int, g *grant) *grant {
	if g.right != rightMember || !j.ops[r].dethronesOthers() {
		return g
	}
	for _, role := range j.given[g.op] {
		if role.right == rightAdmin && role.who == g.who &&
			!slices.ContainsFunc(j.strikes(role), func(s int) bool { return !j.from(s, r) }) {
			return role
		}
	}
	return g
}

// after reports whether g descends from r, or is r's.
func (j *judge) after(g *grant, r int) bool {
	return !slices.ContainsFunc(g.ops, func(op int) bool { return !j.from(op, r) })
}

// aims reports whether r, where effective, is against rights like that of g.
func (j *judge) aims(r int, g *grant) bool {
	op := j.ops[r]
	if op.Root != nil {
		return op.states(g.group) && j.ops[g.op].Version == codec.OpVersion1
	}
	targets, group := op.targets()
	if _, is := slices.BinarySearchFunc(targets, g.who, codec.CompareID); !is {
		return false
	}
	removes := op.removes()
	if group != g.group {
		return removes && group == j.namespace // it ends every membership below
	}
	switch {
	case removes:
		return g.right != rightIdentity
	case op.Body.Kind == codec.OpMemberRoleSet:
		return op.Body.Role != codec.Admin && g.right == rightAdmin
	case op.Body.Kind == codec.OpMemberCapabilitySet:
		return g.right >= rightBit && !op.Body.Capabilities.Has(1<<(g.right-rightBit))
	default:
		return false
	}
}

// isOwn reports whether r is an op by which the holder of g gives up g itself.
func (j *judge) isOwn(r int, g *grant) bool {
	op := j.ops[r]
	if op.states(g.group) { // and names the admin identity anew
		return op.Signer == g.who && g.right == rightIdentity && !op.Root.AdminIdentity.IsZero() && j.ops[g.op].Version == codec.OpVersion1 && j.knows(r, g)
	}
	if op.Root != nil || op.Signer != g.who || op.Group != g.group || !j.knows(r, g) {
		return false
	}
	return op.Body.Kind == codec.OpMemberLeft && g.right != rightIdentity ||
		op.Body.Kind == codec.OpAdminTransferred && g.right == rightIdentity
}

// givesUp reports whether op x may be the one by which its signer gives up a grant: not where
// another does so before it, or one from above that does not know of it.
func (j *judge) givesUp(x int) bool {
	op := j.ops[x]
	if op.Root == nil && op.Body == nil {
		return false
	}
	_, in := op.targets()
	return slices.ContainsFunc(j.of[holder{in, op.Signer}], func(g *grant) bool {
		return j.isOwn(x, g) && !slices.ContainsFunc(j.strikes(g), func(r int) bool {
			if j.isOwn(r, g) {
				return j.before(r, x)
			}
			return !j.follows(r, x)
		})
	})
}

// ownStrike returns the op by which the holder of g gives it up, or -1. Of several the
// first by (height, id) counts: the others would be made with what is gone.
func (j *judge) ownStrike(g *grant, fromAbove []int) int {
	own := slices.Clone(j.revokers[g.who])
	for _, r := range j.statements {
		own = j.with(own, r)
	}
	for _, r := range own {
		if !j.isOwn(r, g) || j.broken(r) != 0 {
			continue
		}
		before := true
		for _, other := range fromAbove {
			before = before && j.follows(other, r)
		}
		if before {
			return r
		}
	}
	return -1
}
