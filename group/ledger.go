package group

import (
	"slices"

	"github.com/stoadb/stoa/codec"
)

// Ledger is the ops of one namespace and what they amount to, kept up to date as they
// come. It says what [Evaluate] says of the same ops: an op on top of all others costs
// what it changes itself, one beside others moreover what comes after it in the order
// by (height, id). Where it may change what others may do, all is judged again, once
// for as many ops as come before [Ledger.Settle].
//
// Ops are known by the order in which they came: 0, 1 and so on. A Ledger keeps the ops
// it is given, and is not safe for concurrent use.
type Ledger struct {
	judge   *judge
	past    *past
	tree    *tree
	journal journal

	verdicts []Verdict
	was      map[int]Verdict // before the first change since the last Settle
	steps    []step          // how to undo what the last of order[:folded] have done
	folded   int             // so many of the order are in the tree
	stale    bool            // all is to be judged again
	whole    bool            // touched holds all rows
	keep     int             // steps, at least
	many     int             // rows of a group that is gone

	groupsOf map[codec.Identity][]codec.GroupID // where an identity was ever given something
	everIn   map[codec.GroupID][]codec.Identity // the other way round
	about    map[codec.Identity][]int           // ops that name an identity
	logs     map[codec.GroupID]*groupLog
	self     codec.Identity
	nonce    uint64 // the greatest of self
}

// groupLog is what rows say of the readable ops of a group.
type groupLog struct {
	count  uint64
	heads  []int
	nonces map[codec.Identity]uint64
}

type step struct{ undo []func() }

// keptSteps is how many ops at the end of the order can be undone, at least.
const keptSteps = 4096

// NewLedger returns the ledger of a namespace without ops, of which self is the identity
// of this node; zero: it has none.
func NewLedger(namespace codec.GroupID, self codec.Identity) *Ledger {
	l := &Ledger{past: newPast(), was: map[int]Verdict{}, groupsOf: map[codec.Identity][]codec.GroupID{},
		everIn: map[codec.GroupID][]codec.Identity{}, about: map[codec.Identity][]int{}, logs: map[codec.GroupID]*groupLog{}, self: self, keep: keptSteps, many: manyRows}
	l.judge = newJudge(l.past, namespace)
	l.journal = journal{touched: map[rowRef]struct{}{}, members: func(g codec.GroupID) []codec.Identity { return l.everIn[g] }}
	l.resetTree()
	return l
}

// resetTree begins the tree anew.
func (l *Ledger) resetTree() {
	l.tree = newTree(l.judge.namespace)
	l.tree.journal = &l.journal
	l.steps, l.folded, l.journal.undo = nil, 0, nil
}

// Cut is the set of some ops and all their ancestors.
type Cut struct {
	past *past
	of   horizon
}

// Has reports whether op i is in the cut.
func (c Cut) Has(i int) bool { return c.past.has(c.of, i) }

// LastNonce returns the greatest nonce of signer in the cut; 0: it has signed nothing.
func (c Cut) LastNonce(signer codec.Identity) uint64 {
	return c.past.lastNonce(c.of, signer)
}

// All reports whether the cut is of all ops.
func (c Cut) All() bool { return c.past.covers(c.of) }

// Cut returns the cut with these heads, or [ErrIncomplete] where one is unknown.
func (l *Ledger) Cut(heads []codec.OpID) (Cut, error) {
	c, err := l.past.cut(heads)
	return Cut{l.past, c}, err
}

// Find returns which op has an id.
func (l *Ledger) Find(id codec.OpID) (i int, ok bool) { i, ok = l.past.at[id]; return i, ok }

// Len returns how many ops there are.
func (l *Ledger) Len() int { return len(l.judge.ops) }

// Op returns op i. It is not to be modified.
func (l *Ledger) Op(i int) *Op { return l.judge.ops[i] }

// Height returns the height of op i.
func (l *Ledger) Height(i int) int { return int(l.past.heights[i]) }

// Before reports whether op a is before op b by (height, id).
func (l *Ledger) Before(a, b int) bool { return l.past.before(a, b) }

// Verdict returns the verdict on op i, as of the last Settle.
func (l *Ledger) Verdict(i int) Verdict { return l.verdicts[i] }

// Heads returns the ops that no other descends from, by id.
func (l *Ledger) Heads() []codec.OpID { return l.idsOf(l.past.heads) }

// Said returns how many ops of a signer have a nonce.
func (l *Ledger) Said(signer codec.Identity, nonce uint64) int {
	if a := l.past.authors[signer]; a != nil {
		return int(a.said[nonce].count)
	}
	return 0
}

// HeadsBeside returns how many heads of a signer there are that are not among ops.
func (l *Ledger) HeadsBeside(signer codec.Identity, ops []codec.OpID) int {
	return l.past.headsBeside(signer, ops)
}

// Members returns the members of a group, by identity, as of the last Settle; nil for a
// group that is not there.
func (l *Ledger) Members(g codec.GroupID) (found []codec.Identity) {
	if l.tree.groups[g] == nil {
		return nil
	}
	for _, who := range l.everIn[g] {
		if len(l.judge.standing[holder{g, who}]) > 0 {
			found = append(found, who)
		}
	}
	slices.SortFunc(found, codec.CompareID)
	return found
}

// IsMember reports whether who is a member of g, as of the last Settle.
func (l *Ledger) IsMember(g codec.GroupID, who codec.Identity) bool {
	return l.tree.groups[g] != nil && len(l.judge.standing[holder{g, who}]) > 0
}

// MemberOf returns the groups that somebody is a member of, in ascending order, as of the last Settle.
func (l *Ledger) MemberOf(who codec.Identity) []codec.GroupID {
	return slices.DeleteFunc(l.Groups(), func(g codec.GroupID) bool { return !l.IsMember(g, who) })
}

// Ended returns the effective ops by which somebody was removed from groups, or left them, as of the
// last Settle; none for who is a member of one.
func (l *Ledger) Ended(who codec.Identity) (ops []codec.OpID) {
	if len(l.MemberOf(who)) > 0 {
		return nil
	}
	for i := range l.Len() {
		op := l.Op(i)
		if b := op.Body; b != nil && l.verdicts[i].Outcome == Effective && (b.Kind == codec.OpMemberLeft && op.Signer == who ||
			b.Kind == codec.OpMemberRemoved && b.Member == who || b.Kind == codec.OpMembersRemoved && slices.Contains(b.Members, who)) {
			ops = append(ops, op.ID)
		}
	}
	return ops
}

// Statement returns what who may state of a group, as of the last Settle: all that stands
// and ranks below what they have there themselves, those above before those below. ok is
// false for who is no Admin of the group, and where none of that is of version 1.
func (l *Ledger) Statement(g codec.GroupID, who codec.Identity) (s codec.RootOp, ok bool) {
	j, in := l.judge, l.tree.groups[g]
	var mine *grant
	for _, q := range j.standing[holder{g, who}] {
		if q.right <= rightAdmin && (mine == nil || j.above(q, mine)) {
			mine = q
		}
	}
	if in == nil || mine == nil {
		return s, false
	}
	type ranked struct {
		best *grant
		m    codec.StatedMember
	}
	var found []ranked
	old := false
	for _, member := range l.everIn[g] {
		r := ranked{m: codec.StatedMember{Member: member, Role: codec.Member}}
		if role, given := in.roles[member]; given {
			r.m.Role = role
		}
		below, first := true, false
		for _, q := range j.standing[holder{g, member}] {
			below = below && (j.above(mine, q) || member == who)
			first = first || j.ops[q.op].Version == codec.OpVersion1
			switch {
			case q.right <= rightAdmin:
				r.m.Role = codec.Admin
			case q.right >= rightBit:
				r.m.Capabilities |= 1 << (q.right - rightBit)
			}
			if r.best == nil || j.above(q, r.best) {
				r.best = q
			}
			if q.right == rightIdentity && member == who {
				s.AdminIdentity = who
			}
		}
		if r.best != nil && below && (member != who || s.AdminIdentity == who) {
			found = append(found, r)
			old = old || first
		}
	}
	slices.SortFunc(found, func(a, b ranked) int {
		switch {
		case j.above(a.best, b.best):
			return -1
		case j.above(b.best, a.best):
			return 1
		}
		return codec.CompareID(a.m.Member, b.m.Member)
	})
	for _, r := range found {
		if r.m.Member != s.AdminIdentity {
			s.Members = append(s.Members, r.m)
		}
	}
	s.Kind, s.GroupID = codec.RootAuthorityStated, g
	if in.defaults != nil {
		s.Defaults = *in.defaults
	}
	return s, old
}

// Groups returns the groups of the tree, by id.
func (l *Ledger) Groups() (found []codec.GroupID) {
	for g := range l.tree.groups {
		found = append(found, g)
	}
	slices.SortFunc(found, codec.CompareID)
	return found
}

// SetSelf says who this node is, whose next nonce a row holds.
func (l *Ledger) SetSelf(self codec.Identity) {
	l.self, l.nonce = self, 0
	for _, c := range l.past.chainsOf(self) {
		l.nonce = max(l.nonce, l.past.chains[c].first+uint64(len(l.past.chains[c].ops))-1)
	}
	if l.Len() > 0 {
		l.touch(rowRef{kind: rowNamespaceHeads})
	}
}

// Hold has the next Settle judge everything again, and makes adding cheap until then:
// for very many ops at a time.
func (l *Ledger) Hold() { l.stale = true }

// Add takes the next op and returns which it is. It returns [ErrIncomplete] where a
// parent is missing. What it changes is known after Settle.
func (l *Ledger) Add(op *Op) (int, error) {
	c, err := l.past.cut(op.Parents)
	if err != nil {
		return 0, err
	}
	top := l.past.covers(c)
	i := l.past.add(op, c)
	if err := l.judge.add(op); err != nil {
		return 0, err
	}
	l.verdicts = append(l.verdicts, Verdict{})
	at := l.past.insert(i)
	l.note(i)
	l.touch(rowRef{kind: rowNamespaceHeads})
	if op.Signer == l.self {
		l.nonce = max(l.nonce, op.Nonce)
	}
	l.log(i)
	if !l.stale {
		l.judgeNew(i, top)
	}
	l.insert(i, at)
	return i, nil
}

// Open makes op i readable that was not: its body, or why it is void for good.
func (l *Ledger) Open(i int, body *codec.GroupOp, fault Reason) {
	op := *l.judge.ops[i]
	op.Body, op.Fault = body, fault
	l.judge.ops[i] = &op
	l.judge.effects[i] = answer{}
	l.rewind(l.past.position(i))
	if body == nil {
		return
	}
	l.judge.given[i] = l.judge.grantsAt(i)
	if err := l.judge.index(i, &op); err != nil {
		panic(err) // only what joins is refused, and that is clear
	}
	l.note(i)
	l.log(i)
	l.stale = l.stale || weighs(&op)
}

// weighs reports whether an op of a group may change what others may do.
func weighs(op *Op) bool {
	switch op.Body.Kind {
	case codec.OpMemberAdded, codec.OpMemberRemoved, codec.OpMembersRemoved, codec.OpMemberLeft, codec.OpMemberRoleSet, codec.OpMemberCapabilitySet,
		codec.OpDefaultCapabilitiesSet, codec.OpAdminTransferred:
		return true
	default:
		return false
	}
}

// insert notes that op i has come to a place of the order. What comes after it is taken out
// of the tree, unless the op does nothing there.
func (l *Ledger) insert(i, at int) {
	if l.stale || at >= l.folded || !l.judge.idle(i, l.tree) {
		l.rewind(at)
		return
	}
	if kept := at - (l.folded - len(l.steps)); kept >= 0 {
		l.steps = slices.Insert(l.steps, kept, step{})
	}
	l.folded++
	l.decide(i, l.judge.verdict(i, l.tree))
}

// rewind takes out of the tree what has been folded from a place of the order on. One that
// is to be built anew stays as it is until then.
func (l *Ledger) rewind(to int) {
	if l.stale {
		return
	}
	if to < l.folded-len(l.steps) {
		l.rebuildTree()
	}
	for l.folded > to {
		last := len(l.steps) - 1
		for _, undo := range slices.Backward(l.steps[last].undo) {
			undo()
		}
		l.steps = l.steps[:last]
		l.folded--
	}
}

// rebuildTree begins the tree anew; all of its rows may change.
func (l *Ledger) rebuildTree() {
	for id, s := range l.tree.groups {
		l.tree.touchAll(id, s)
	}
	l.resetTree()
	l.whole = true
}

// note keeps the indexes of identities up to date with op i.
func (l *Ledger) note(i int) {
	op := l.judge.ops[i]
	for _, g := range l.judge.given[i] {
		if !slices.Contains(l.groupsOf[g.who], g.group) {
			l.groupsOf[g.who] = append(l.groupsOf[g.who], g.group)
			l.everIn[g.group] = append(l.everIn[g.group], g.who)
		}
	}
	for _, who := range mentions(op) {
		l.about[who] = append(l.about[who], i)
	}
}

// mentions returns the identities whose grants an op depends on, or changes, besides its
// signer's.
func mentions(op *Op) (who []codec.Identity) {
	if op.Root != nil {
		if op.Root.Kind == codec.RootMemberJoined {
			return []codec.Identity{op.Root.Member, op.Root.Invitation.Inviter}
		}
		for _, m := range op.Root.Members {
			who = append(who, m.Member)
		}
		return who
	}
	switch {
	case op.Body == nil || op.Body.Member.IsZero() && len(op.Body.Members) == 0:
		return nil
	case op.Body.Kind == codec.OpMembersRemoved:
		return op.Body.Members
	}
	return []codec.Identity{op.Body.Member}
}

// log adds op i, if it is a readable one of a group, to what rows say of those.
func (l *Ledger) log(i int) {
	op := l.judge.ops[i]
	if !op.hasNonce() {
		return
	}
	g := l.logs[op.Group]
	if g == nil {
		g = &groupLog{nonces: map[codec.Identity]uint64{}}
		l.logs[op.Group] = g
	}
	g.nonces[op.Signer] = max(g.nonces[op.Signer], op.Nonce)
	l.touch(rowRef{kind: rowNonce, group: op.Group, who: op.Signer})
	if !op.isLogged() {
		return
	}
	g.count++
	if !slices.ContainsFunc(g.heads, func(a int) bool { return l.past.follows(a, i) }) {
		g.heads = append(slices.DeleteFunc(slices.Clone(g.heads), func(a int) bool { return l.past.follows(i, a) }), i)
	}
	l.touch(rowRef{kind: rowHeads, group: op.Group})
}

func (l *Ledger) touch(at ...rowRef) { l.tree.touch(at...) }
