package group

import (
	"maps"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// Result is what a set of ops amounts to.
type Result struct {
	Verdicts      map[codec.OpID]Verdict
	Rows          []Row                     // of the Group column, by key
	Claims        map[codec.ContextID]Claim // of this namespace; that they count is for [Home] to say
	Equivocations []Equivocation            // by (signer, nonce)

	members map[codec.GroupID][]codec.Identity
}

// Row is one row of the Group column.
type Row struct{ Key, Value []byte }

// Members returns the members of a group, by identity; nil for one that is not there.
// The result is not to be modified.
func (r *Result) Members(g codec.GroupID) []codec.Identity { return r.members[g] }

// Groups returns the groups of the tree, by id.
func (r *Result) Groups() []codec.GroupID {
	return slices.SortedFunc(maps.Keys(r.members), codec.CompareID)
}

// Evaluate judges ops, in whatever order they are given, and returns what they
// amount to. It fails with [ErrIncomplete] where a parent is missing, or where not
// exactly one op has no parents and creates the namespace. It reads nothing else, and
// changes none of its arguments.
//
// self is the identity of this node, of which the row of the namespace's heads holds
// the next nonce; zero: it has none.
//
// Evaluate takes time that grows with the square of the ops and faster. A node keeps
// rows up to date in another way, and is right where it agrees with this.
func Evaluate(ops []Op, self codec.Identity) (*Result, error) {
	g, err := newGraph(ops)
	if err != nil {
		return nil, err
	}
	j := newJudge(g, g.ops[0].Root.GroupID)
	for _, op := range g.ops {
		if err := j.add(op); err != nil {
			return nil, err
		}
	}
	t := newTree(j.namespace)
	r := &Result{Verdicts: map[codec.OpID]Verdict{}, Equivocations: equivocations(g.ops), members: map[codec.GroupID][]codec.Identity{}}
	for i, op := range g.ops {
		r.Verdicts[op.ID] = j.verdict(i, t)
	}
	for id := range t.groups {
		r.members[id] = j.members(id)
	}
	r.Claims = maps.Collect(t.claims())
	r.Rows, err = j.rows(t, self)
	for id := range t.groups {
		slices.SortFunc(r.members[id], codec.CompareID)
	}
	return r, err
}

// verdict judges op i and, where it is effective, folds it into t.
func (j *judge) verdict(i int, t *tree) Verdict {
	op := j.ops[i]
	if op.Root == nil && op.Body == nil {
		if op.Fault != 0 {
			return Verdict{Void, op.Fault}
		}
		return Verdict{Outcome: Sealed}
	}
	if ok, reason := j.effective(i); !ok {
		return Verdict{Void, reason}
	}
	if !op.KeyOp.IsZero() && j.isAbandoned(op.Group, op.KeyOp) {
		return Verdict{Void, Abandoned}
	}
	verdict := t.apply(op)
	if verdict.Outcome == Effective && op.Body != nil && op.Body.Kind == codec.OpMemberCapabilitySet &&
		op.Body.Capabilities != 0 && !j.memberAt(i, op.Group, op.Body.Member, j.given[i][0]) {
		return skipped(NotMember)
	}
	return verdict
}

// members returns who holds a standing grant of a group.
func (j *judge) members(g codec.GroupID) (found []codec.Identity) {
	for h, grants := range j.of {
		if h.group == g && j.any(grants, j.stands) {
			found = append(found, h.who)
		}
	}
	return found
}
