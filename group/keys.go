package group

import (
	"slices"

	"github.com/stoadb/stoa/codec"
)

// Key is a key that an op of version 2 introduces. Its name is the group and that op.
type Key struct {
	Group   codec.GroupID
	Carries []codec.OpID // which earlier keys of the group it opens
}

// keyName names a key of a group by the op that introduces it.
type keyName struct {
	group codec.GroupID
	op    int
}

// introduces returns the key of g that op i introduces, or nil.
func (j *judge) introduces(i int, g codec.GroupID) *Key {
	for k := range j.ops[i].Keys {
		if key := &j.ops[i].Keys[k]; key.Group == g {
			return key
		}
	}
	return nil
}

// isAbandoned reports whether an effective rotation by an Admin, which descends from the
// op that introduces a key of g, carries that neither itself nor by a chain of others.
func (j *judge) isAbandoned(g codec.GroupID, op codec.OpID) bool {
	i, known := j.at[op]
	if !known {
		return false // no op is sealed under what none of its ancestors introduces
	}
	if j.abandoned == nil {
		j.abandoned = map[keyName]bool{}
		for g, ops := range j.keys {
			for _, r := range ops {
				j.abandon(keyName{g, r})
			}
		}
	}
	return j.abandoned[keyName{g, i}]
}

// abandon notes what a rotation abandons, and reports whether anything was added.
func (j *judge) abandon(r keyName) (added bool) {
	if !j.isAdmins(r) {
		return false
	}
	carried := j.carried(r)
	for _, k := range j.keys[r.group] {
		name := keyName{r.group, k}
		if j.follows(r.op, k) && !carried[k] && !j.abandoned[name] {
			j.abandoned[name] = true
			added = true
		}
	}
	return added
}

// isAdmins reports whether a rotation is effective, and its signer an Admin of the group.
func (j *judge) isAdmins(r keyName) bool {
	if ok, _ := j.effective(r.op); !ok {
		return false
	}
	return j.any(j.holding(holder{r.group, j.ops[r.op].Signer}, r.op), func(g *grant) bool {
		return g.right <= rightAdmin && j.knows(r.op, g) && j.holds(g, r.op)
	})
}

// carried returns the ops whose keys a key opens, itself or by others that it opens.
func (j *judge) carried(r keyName) map[int]bool {
	found := map[int]bool{}
	for open := []int{r.op}; len(open) > 0; {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		key := j.introduces(i, r.group)
		if key == nil {
			continue
		}
		for _, id := range key.Carries {
			if k, known := j.at[id]; known && !found[k] && j.follows(i, k) {
				found[k] = true
				open = append(open, k)
			}
		}
	}
	return found
}

// Abandoned reports whether a key of g has been abandoned, as of the last Settle.
func (l *Ledger) Abandoned(g codec.GroupID, op codec.OpID) bool { return l.judge.isAbandoned(g, op) }

// IsAdmin reports whether who is the admin identity or an Admin of g, as of the last
// Settle.
func (l *Ledger) IsAdmin(g codec.GroupID, who codec.Identity) bool {
	return l.tree.groups[g] != nil && slices.ContainsFunc(l.judge.standing[holder{g, who}], func(q *grant) bool { return q.right <= rightAdmin })
}
