package group

import (
	"slices"

	"github.com/stoadb/stoa/codec"
)

// judge answers, for one set of ops, which are effective and which grants stand. It
// is written as group/README.md defines it (Effect): every question about a grant asks
// only about grants that rank above it, so the recursion ends.
type judge struct {
	causal
	ops        []*Op
	namespace  codec.GroupID
	given      [][]*grant               // by op
	of         map[holder][]*grant      // by who holds them
	effects    []answer                 // memo of effective, by op
	created    map[codec.GroupID]int    // the first op that creates a group, by (height, id)
	at         map[codec.OpID]int       // ops that introduce keys
	keys       map[codec.GroupID][]int  // likewise, by group
	abandoned  map[keyName]bool         // nil: to be found out again
	defaults   map[codec.GroupID][]int  // DefaultCapabilitiesSet and AuthorityStated; these lists are by (height, id)
	joins      map[codec.Hash][]int     // MemberJoined, by invitation
	withdrawn  map[codec.Hash][]int     // InvitationRevoked
	revokers   map[codec.Identity][]int // ops that may strike grants of that identity
	invites    map[int]codec.Hash       // the invitation of a MemberJoined
	statements []int                    // AuthorityStated, which may strike grants of anybody

	// An op that descends from all others, or -1: of each holder it needs to look at
	// the standing grants only, for whatever strikes another does not descend from it.
	top      int
	standing map[holder][]*grant
}

// causal is the order of a set of ops.
type causal interface {
	// follows reports whether op x descends from op a.
	follows(x, a int) bool
	// before reports whether op a is before op b by (height, id).
	before(a, b int) bool
}

// from reports whether op x is a or descends from it.
func (j *judge) from(x, a int) bool { return x == a || j.follows(x, a) }

type holder struct {
	group codec.GroupID
	who   codec.Identity
}

type answer struct {
	known, yes bool
	reason     Reason

	asked  bool   // broken is known
	broken Reason // what broken returns
}

func newJudge(order causal, namespace codec.GroupID) *judge {
	return &judge{causal: order, namespace: namespace, of: map[holder][]*grant{}, created: map[codec.GroupID]int{},
		at: map[codec.OpID]int{}, keys: map[codec.GroupID][]int{},
		defaults: map[codec.GroupID][]int{}, joins: map[codec.Hash][]int{}, withdrawn: map[codec.Hash][]int{},
		revokers: map[codec.Identity][]int{}, invites: map[int]codec.Hash{}, top: -1, standing: map[holder][]*grant{}}
}

// add judges the next op.
func (j *judge) add(op *Op) error {
	i := len(j.ops)
	j.ops = append(j.ops, op)
	j.effects = append(j.effects, answer{})
	j.given = append(j.given, j.grantsAt(i))
	return j.index(i, op)
}

// grantsAt returns the grants of op i. A group that is created again, which only its
// creator can do, is the same grant: else it would come back to who has given it up.
func (j *judge) grantsAt(i int) (given []*grant) {
	op := j.ops[i]
	if op.Root != nil && op.Root.Kind == codec.RootGroupCreated {
		if first, again := j.created[op.Root.GroupID]; again {
			given = j.given[first]
			earlier := j.before(i, first) // it comes later, and is the one whose rank counts
			for _, g := range given {
				if g.ops = append(g.ops, i); earlier {
					g.op = i
				}
			}
			if earlier {
				j.created[op.Root.GroupID] = i
			}
			return given
		}
		j.created[op.Root.GroupID] = i
	}
	for _, g := range grantsOf(i, op, j.namespace) {
		g.ops = []int{i}
		given = append(given, &g)
		h := holder{g.group, g.who}
		j.of[h] = append(j.of[h], &g)
	}
	return given
}

// knows reports whether an op that gives g is an ancestor of op x.
func (j *judge) knows(x int, g *grant) bool {
	return slices.ContainsFunc(g.ops, func(op int) bool { return j.follows(x, op) })
}

// isGiven reports whether an op that gives g is effective.
func (j *judge) isGiven(g *grant) bool {
	return slices.ContainsFunc(g.ops, func(op int) bool { ok, _ := j.effective(op); return ok })
}

func (j *judge) index(i int, op *Op) error {
	for _, k := range op.Keys {
		j.at[op.ID] = i
		j.keys[k.Group] = append(j.keys[k.Group], i)
	}
	switch {
	case op.Root != nil && op.Root.Kind == codec.RootMemberJoined:
		id, err := InvitationID(&op.Root.Invitation)
		if err != nil {
			return err
		}
		j.invites[i] = id
		j.joins[id] = j.with(j.joins[id], i)
	case op.Root != nil && op.Root.Kind == codec.RootInvitationRevoked:
		j.withdrawn[op.Root.InvitationID] = j.with(j.withdrawn[op.Root.InvitationID], i)
	case op.Root != nil && op.Root.Kind == codec.RootAuthorityStated:
		j.statements = j.with(j.statements, i)
		j.defaults[op.Root.GroupID] = j.with(j.defaults[op.Root.GroupID], i)
	case op.Body == nil:
	case op.Body.Kind == codec.OpDefaultCapabilitiesSet:
		j.defaults[op.Group] = j.with(j.defaults[op.Group], i)
	default:
		for _, who := range strikesAt(op) {
			j.revokers[who] = j.with(j.revokers[who], i)
		}
	}
	return nil
}

// with adds i to a list by (height, id).
func (j *judge) with(list []int, i int) []int {
	at, _ := slices.BinarySearchFunc(list, i, func(o, i int) int {
		if j.before(o, i) {
			return -1
		}
		return 1
	})
	return slices.Insert(list, at, i)
}

// idle reports whether op x changes nothing of the tree t, which has all others, wherever it
// stands in the order: it is void, can't be read, joins heads, or is about keys and invitations
// of a group that has been there since it was made.
func (j *judge) idle(x int, t *tree) bool {
	op := j.ops[x]
	if op.Root == nil && op.Body == nil {
		return true
	}
	if effective, _ := j.effective(x); !effective {
		return true
	}
	g := op.Group
	if r := op.Root; r != nil {
		switch g = r.GroupID; r.Kind {
		case codec.RootMerge:
			return true
		case codec.RootKeyDelivery, codec.RootKeyDelivered, codec.RootInvitationRevoked:
		default:
			return false
		}
	} else if op.Body.Kind != codec.OpKeyRotated {
		return false
	}
	if t.groups[g] == nil || t.removed[g] {
		return false
	}
	made, again := j.created[g]
	return g == j.namespace || again && len(j.given[made][0].ops) == 1
}

// effective reports whether op x does what it says, and if not, why it is void.
func (j *judge) effective(x int) (bool, Reason) {
	if !j.effects[x].known {
		reason := j.voidReason(x)
		a := &j.effects[x]
		a.known, a.yes, a.reason = true, reason == 0, reason
	}
	return j.effects[x].yes, j.effects[x].reason
}

// voidReason returns why x is void, or 0.
func (j *judge) voidReason(x int) Reason {
	op := j.ops[x]
	if len(op.Parents) == 0 {
		return 0 // the one that creates the namespace
	}
	if op.Fault != 0 {
		return op.Fault
	}
	if op.Root == nil && op.Body == nil {
		return NoRight
	}
	for _, n := range needs(op, j.namespace) {
		if !j.any(j.grantsFor(n, x), func(g *grant) bool { return j.under(x, n, g) }) {
			if j.any(j.grantsFor(n, x), func(g *grant) bool { return j.allows(x, n, g) && j.holds(g, x) }) {
				return Outranked
			}
			if j.any(j.of[holder{n.group, n.who}], func(g *grant) bool { return j.allows(x, n, g) && j.counts(g) }) {
				return Revoked
			}
			return NoRight
		}
	}
	return j.broken(x)
}

// under reports whether x is effective under g, as far as the need n and the grant
// go: g is an ancestor, gives the right, ranks above what x gives and the Admins whom it
// dethrones, is effective, and whatever strikes it descends from x.
func (j *judge) under(x int, n need, g *grant) bool {
	return j.allows(x, n, g) && j.overrides(g, x) && j.holds(g, x)
}

// allows reports whether g is an ancestor of x, gives the right, and ranks above what x gives.
func (j *judge) allows(x int, n need, g *grant) bool {
	return g.meets(n) && j.knows(x, g) && j.outranks(g, x)
}

// overrides reports whether g ranks above every role Admin that x is to take away, which x would
// not strike otherwise.
func (j *judge) overrides(g *grant, x int) bool {
	op := j.ops[x]
	if !op.dethronesOthers() {
		return true
	}
	targets, in := op.targets()
	return !slices.ContainsFunc(targets, func(who codec.Identity) bool {
		return j.any(j.holding(holder{in, who}, x), func(role *grant) bool {
			return role.right == rightAdmin && j.knows(x, role) && !j.above(g, role) && j.holds(role, x)
		})
	})
}

// outranks reports whether g ranks above all that x gives.
func (j *judge) outranks(g *grant, x int) bool {
	for _, given := range j.given[x] {
		if !j.above(g, given) {
			return false
		}
	}
	return true
}

// holds reports whether g is effective, and not struck as far as x can help it.
func (j *judge) holds(g *grant, x int) bool {
	if !j.counts(g) {
		return false
	}
	for _, r := range j.strikes(g) {
		if !j.from(r, x) {
			return false
		}
	}
	return true
}

// stands reports whether g is effective and nothing strikes it.
func (j *judge) stands(g *grant) bool { return j.counts(g) && len(j.strikes(g)) == 0 }

// counts reports whether g is effective: its op is, and a capability belongs to a
// member and, where it came with membership, to the defaults then.
func (j *judge) counts(g *grant) bool {
	if !g.counted {
		g.counts = j.isEffective(g)
		g.counted = true
	}
	return g.counts
}

func (j *judge) isEffective(g *grant) bool {
	if !j.isGiven(g) {
		return false
	}
	if j.ops[g.op].states(g.group) {
		return g.namespace || j.memberAt(g.op, j.namespace, g.who, nil)
	}
	if g.right < rightBit {
		return true
	}
	if body := j.ops[g.op].Body; body != nil && body.Kind == codec.OpMemberCapabilitySet {
		return j.memberAt(g.op, g.group, g.who, g)
	}
	return j.defaultsAt(g.op, g.group).Has(1 << (g.right - rightBit))
}

// memberAt reports whether who is a member of group at the cut of x, by a grant that
// ranks above below (nil: any).
func (j *judge) memberAt(x int, group codec.GroupID, who codec.Identity, below *grant) bool {
	return j.any(j.holding(holder{group, who}, x), func(g *grant) bool {
		return g.right < rightBit && j.knows(x, g) && (below == nil || j.above(g, below)) && j.holds(g, x)
	})
}

// defaultsAt returns the capabilities of a new member at the cut of x: the last by
// (height, id) decides.
func (j *judge) defaultsAt(x int, group codec.GroupID) codec.Capabilities {
	for _, d := range slices.Backward(j.defaults[group]) {
		if j.follows(x, d) {
			if ok, _ := j.effective(d); ok {
				if r := j.ops[d].Root; r != nil {
					return r.Defaults
				}
				return j.ops[d].Body.Capabilities
			}
		}
	}
	return 0
}

// broken returns which rule x breaks that is not about the right of its signer.
func (j *judge) broken(x int) Reason {
	if a := &j.effects[x]; a.asked {
		return a.broken
	}
	reason := j.breaks(x)
	j.effects[x].asked, j.effects[x].broken = true, reason
	return reason
}

func (j *judge) breaks(x int) Reason {
	op := j.ops[x]
	targets, group := op.targets()
	for _, target := range targets {
		if op.dethrones() && j.any(j.holding(holder{group, target}, x), func(g *grant) bool {
			return g.right == rightIdentity && j.knows(x, g) && j.holds(g, x)
		}) {
			return AdminIdentity
		}
		if op.admits() && group != j.namespace && !j.memberAt(x, j.namespace, target, nil) {
			return NotInNamespace
		}
	}
	if op.Root != nil && op.Root.Kind == codec.RootMemberJoined {
		return j.uninvited(x)
	}
	return 0
}

// uninvited returns why the invitation of the MemberJoined x does not count.
func (j *judge) uninvited(x int) Reason {
	id := j.invites[x]
	for _, y := range j.joins[id] {
		if j.follows(x, y) {
			if ok, _ := j.effective(y); ok {
				return Consumed
			}
		}
	}
	for _, v := range j.withdrawn[id] {
		n := needs(j.ops[v], j.namespace)[0]
		if n.group != j.ops[x].Root.Invitation.GroupID || j.follows(v, x) {
			continue
		}
		if j.any(j.grantsFor(n, v), func(q *grant) bool { return j.outranks(q, x) && j.under(v, n, q) }) {
			return Withdrawn
		}
	}
	return 0
}

// grantsFor returns the grants among which may be those that op x needs.
func (j *judge) grantsFor(n need, x int) []*grant { return j.holding(holder{n.group, n.who}, x) }

// holding returns the grants of h that may hold where op x stands.
func (j *judge) holding(h holder, x int) []*grant {
	if x == j.top {
		return j.standing[h]
	}
	return j.of[h]
}

func (j *judge) any(grants []*grant, ok func(*grant) bool) bool {
	for _, g := range grants {
		if ok(g) {
			return true
		}
	}
	return false
}
