package group

import (
	"slices"

	"github.com/stoadb/stoa/codec"
)

// judgeNew judges the op that came last; top: it descends from all others. No op
// descends from it, so that all others are as they were, unless it takes something from
// somebody whom ops beside it are by or about.
func (l *Ledger) judgeNew(i int, top bool) {
	j := l.judge
	if top {
		j.top = i
	}
	effective, _ := j.effective(i)
	effective = effective || j.givesUp(i)
	if l.reranks(i) || effective && l.unsettles(i, top) { // what is void takes nothing from anybody
		l.stale, j.top = true, -1
		return
	}
	if effective {
		l.strike(i, top)
	}
	for _, g := range j.given[i] {
		if top { // whatever strikes it would have to be beside it
			g.struck, g.strikes = true, nil
		}
		j.counts(g)
		l.stand(g)
	}
	j.top = -1
	if j.abandoned == nil {
		return
	}
	for _, k := range j.ops[i].Keys {
		if j.abandon(keyName{k.Group, i}) {
			l.stale = true // what was sealed under it has no effect any more
		}
	}
}

// reranks reports whether the op i, which came last, creates a group again: the grants of
// its creator may rank by it then.
func (l *Ledger) reranks(i int) bool {
	r := l.judge.ops[i].Root
	return r != nil && r.Kind == codec.RootGroupCreated && len(l.judge.given[i][0].ops) > 1
}

// unsettles reports whether the op i, which came last and is effective, may change the verdict
// on others.
func (l *Ledger) unsettles(i int, top bool) bool {
	j, op := l.judge, l.judge.ops[i]
	if r := op.Root; r != nil {
		switch r.Kind {
		case codec.RootAuthorityStated:
			return true
		case codec.RootInvitationRevoked:
			return l.anyBeside(i, j.joins[r.InvitationID])
		}
		return false
	}
	return !top && slices.ContainsFunc(strikesAt(op), func(who codec.Identity) bool {
		return l.signsBeside(i, who) || l.anyBeside(i, l.about[who])
	})
}

// signsBeside reports whether who has signed ops beside i.
func (l *Ledger) signsBeside(i int, who codec.Identity) bool {
	for _, c := range l.past.chainsOf(who) {
		for _, y := range slices.Backward(l.past.chains[c].ops) {
			if int(y) == i {
				continue
			}
			if !l.past.follows(i, int(y)) {
				return true
			}
			break
		}
	}
	return false
}

func (l *Ledger) anyBeside(i int, ops []int) bool {
	return slices.ContainsFunc(ops, func(y int) bool { return y != i && !l.past.follows(i, y) })
}

// strikesAt returns whose grants an op of a group may strike.
func strikesAt(op *Op) []codec.Identity {
	if op.Body == nil {
		return nil
	}
	switch op.Body.Kind {
	case codec.OpMemberLeft, codec.OpAdminTransferred:
		return []codec.Identity{op.Signer}
	case codec.OpMemberRemoved, codec.OpMemberRoleSet, codec.OpMemberCapabilitySet:
		return []codec.Identity{op.Body.Member}
	case codec.OpMembersRemoved:
		return op.Body.Members
	default:
		return nil
	}
}

// strike notes which grants op i, which came last, strikes.
func (l *Ledger) strike(i int, top bool) {
	j := l.judge
	for _, who := range strikesAt(j.ops[i]) {
		var hit []*grant
		for _, id := range l.groupsOf[who] {
			h := holder{id, who}
			if !top {
				hit = append(hit, j.of[h]...)
				continue
			}
			for _, g := range j.standing[h] {
				if j.strikesFromAbove(i, g) || j.isOwn(i, g) && j.broken(i) == 0 {
					hit = append(hit, g)
				}
			}
		}
		for _, g := range hit {
			if top {
				g.strikes = append(slices.Clip(g.strikes), i)
			} else {
				g.struck = false
			}
			l.stand(g)
		}
	}
}

// stand notes whether g stands, and touches its rows.
func (l *Ledger) stand(g *grant) {
	j, h := l.judge, holder{g.group, g.who}
	list := j.standing[h]
	at := slices.Index(list, g)
	stands := j.stands(g)
	switch {
	case stands && at < 0:
		j.standing[h] = append(list, g)
	case !stands && at >= 0:
		j.standing[h] = slices.Delete(slices.Clone(list), at, at+1)
	default:
		return
	}
	l.touchGrant(g)
}

func (l *Ledger) touchGrant(g *grant) {
	l.touch(rowRef{kind: rowMember, group: g.group, who: g.who})
	if g.right == rightIdentity {
		l.touch(rowRef{kind: rowMeta, group: g.group})
	}
}

// judgeAll judges everything again.
func (l *Ledger) judgeAll() {
	j := l.judge
	clear(j.effects)
	clear(j.standing)
	j.abandoned = nil
	j.top = -1
	for _, grants := range j.of {
		for _, g := range grants {
			g.forget()
		}
	}
	for _, i := range l.past.order {
		if op := j.ops[i]; op.Root != nil || op.Body != nil {
			j.effective(int(i))
		}
	}
	for h, grants := range j.of {
		for _, g := range grants {
			l.touchGrant(g)
			if j.stands(g) {
				j.standing[h] = append(j.standing[h], g)
			}
		}
	}
	l.stale = false
	l.rebuildTree()
}

// VerdictChange is a verdict that is another one now.
type VerdictChange struct {
	Op  codec.OpID
	Old Verdict // of an op that has just come: zero
	New Verdict
}

// Settle brings verdicts and rows up to date with all that has come, and returns the
// verdicts that have changed since it was last called, in the order in which their ops
// came.
func (l *Ledger) Settle() (changed []VerdictChange) {
	if l.stale {
		l.judgeAll()
	}
	for ; l.folded < len(l.past.order); l.folded++ {
		l.fold(int(l.past.order[l.folded]))
	}
	ops := make([]int, 0, len(l.was))
	for i, old := range l.was {
		if l.verdicts[i] != old {
			ops = append(ops, i)
		}
	}
	slices.Sort(ops)
	for _, i := range ops {
		changed = append(changed, VerdictChange{l.past.ids[i], l.was[i], l.verdicts[i]})
	}
	l.was = emptied(l.was)
	return changed
}

// fold gives op i its verdict and does in the tree what it does.
func (l *Ledger) fold(i int) {
	v := l.judge.verdict(i, l.tree)
	if len(l.steps) >= 2*l.keep {
		l.steps = append([]step(nil), l.steps[len(l.steps)-l.keep:]...)
	}
	l.steps = append(l.steps, step{l.journal.undo})
	l.journal.undo = nil
	l.decide(i, v)
}

// decide gives op i its verdict.
func (l *Ledger) decide(i int, v Verdict) {
	if old := l.verdicts[i]; old != v {
		if _, noted := l.was[i]; !noted {
			l.was[i] = old
		}
		l.verdicts[i] = v
	}
}
