package group

import (
	"slices"

	"github.com/stoadb/stoa/codec"
)

// Try adds op, which must be on top of all others and introduce no key, calls look, and
// takes op out again.
// The ledger must be settled, and is, with op, while look runs.
func (l *Ledger) Try(op *Op, look func(Verdict)) error {
	heads, nonce := l.past.heads, l.nonce
	var log groupLog
	known := l.logs[op.Group]
	if known != nil {
		log = *known
		log.nonces = map[codec.Identity]uint64{op.Signer: known.nonces[op.Signer]}
	}
	i, err := l.Add(op)
	if err != nil {
		return err
	}
	l.Settle()
	look(l.verdicts[i])
	l.rewind(len(l.past.order) - 1)
	l.unjudge(i)
	l.past.drop(op, heads)
	l.verdicts, l.nonce = l.verdicts[:i], nonce
	if known == nil {
		delete(l.logs, op.Group)
	} else {
		known.count, known.heads = log.count, log.heads
		known.nonces[op.Signer] = log.nonces[op.Signer]
	}
	return nil
}

// unjudge takes the last op from the judge.
func (l *Ledger) unjudge(i int) {
	j, op := l.judge, l.judge.ops[i]
	for _, who := range strikesAt(op) {
		j.revokers[who] = without(j.revokers[who], i)
		for _, id := range l.groupsOf[who] {
			for _, g := range j.of[holder{id, who}] {
				if slices.Contains(g.strikes, i) {
					g.strikes = without(g.strikes, i)
					l.stand(g)
				}
			}
		}
	}
	for _, g := range j.given[i] {
		h := holder{g.group, g.who}
		j.of[h] = slices.DeleteFunc(j.of[h], func(o *grant) bool { return o == g })
		j.standing[h] = slices.DeleteFunc(slices.Clone(j.standing[h]), func(o *grant) bool { return o == g })
		l.touchGrant(g)
	}
	for _, who := range mentions(op) {
		l.about[who] = without(l.about[who], i)
	}
	if r := op.Root; r != nil {
		switch r.Kind {
		case codec.RootGroupCreated:
			delete(j.created, r.GroupID)
		case codec.RootMemberJoined:
			j.joins[j.invites[i]] = without(j.joins[j.invites[i]], i)
			delete(j.invites, i)
		case codec.RootAuthorityStated:
			j.statements = without(j.statements, i)
			j.defaults[r.GroupID] = without(j.defaults[r.GroupID], i)
			l.stale = true // it has struck what stands again
		case codec.RootInvitationRevoked:
			j.withdrawn[r.InvitationID] = without(j.withdrawn[r.InvitationID], i)
		}
	} else if op.Body.Kind == codec.OpDefaultCapabilitiesSet {
		j.defaults[op.Group] = without(j.defaults[op.Group], i)
	}
	j.ops, j.given, j.effects = j.ops[:i], j.given[:i], j.effects[:i]
}

func without(list []int, i int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(o int) bool { return o == i })
}
