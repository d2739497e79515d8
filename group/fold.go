package group

import (
	"iter"

	"github.com/stoadb/stoa/codec"
)

// maxDepth is how far below the namespace a group may be.
const maxDepth = 16

// tree is what the effective ops have built, in the order by (height, id): every row
// that is no grant.
type tree struct {
	namespace codec.GroupID
	groups    map[codec.GroupID]*state
	homes     map[codec.ContextID]codec.GroupID
	removed   map[codec.GroupID]bool // ever, whether undone or not
	journal   *journal               // nil: nothing is ever undone
}

func newTree(namespace codec.GroupID) *tree {
	return &tree{namespace: namespace, groups: map[codec.GroupID]*state{}, homes: map[codec.ContextID]codec.GroupID{}, removed: map[codec.GroupID]bool{}}
}

// state is one group of the tree.
type state struct {
	parent   codec.GroupID // of the namespace itself: zero
	meta     codec.GroupMetaValue
	upgrade  *codec.GroupUpgradeValue
	defaults *codec.Capabilities
	name     codec.AliasName // none: empty
	names    map[codec.Identity]codec.AliasName
	named    map[codec.AliasName]codec.Identity       // names, the other way round
	roles    map[codec.Identity]codec.GroupMemberRole // last given, Admin aside
	contexts map[codec.ContextID]*contextState

	membersRevision     uint64 // effective ops that changed members of the group
	applicationRevision uint64 // effective ops that changed its application
}

// contextState is one context of a group.
type contextState struct {
	name       codec.AliasName
	migration  *string
	identities map[codec.Identity]codec.Identity
	masks      map[codec.Identity]codec.ContextCapability
	config     codec.ContextConfigValue // what the context's own ops add to those of its group
	number     uint64                   // of the placement by which the group has it; 0: by its members' word alone
}

// skipped is the verdict on an effective op that changes nothing.
func skipped(r Reason) Verdict { return Verdict{Skipped, r} }

// apply folds the effective op into the tree and returns the verdict on it.
func (t *tree) apply(op *Op) Verdict {
	if op.Root != nil {
		return t.applyRoot(op)
	}
	g := t.groups[op.Group]
	if g == nil {
		return skipped(NoGroup)
	}
	verdict := t.applyToGroup(g, op)
	if verdict.Outcome == Effective {
		t.count(g, op)
	}
	return verdict
}

func (t *tree) applyRoot(op *Op) Verdict {
	switch r := op.Root; r.Kind {
	case codec.RootNamespaceCreated:
		t.add(r)
	case codec.RootGroupCreated:
		switch parent := t.groups[r.ParentID]; {
		case t.groups[r.GroupID] != nil:
			return skipped(Exists)
		case parent == nil:
			return skipped(NoGroup)
		case t.depth(r.ParentID) == maxDepth:
			return skipped(TooDeep)
		}
		t.add(r)
	case codec.RootGroupReparented:
		return t.reparent(r)
	case codec.RootGroupDeleted:
		if t.groups[r.GroupID] == nil {
			return skipped(NoGroup)
		}
		t.remove(r.GroupID)
	case codec.RootMemberJoined:
		g := t.groups[r.Invitation.GroupID]
		if g == nil {
			return skipped(NoGroup)
		}
		t.setRole(g, r.Invitation.GroupID, r.Member, r.Invitation.Role)
		t.raise(g, &g.membersRevision)
	case codec.RootAuthorityStated:
		g := t.groups[r.GroupID]
		if g == nil {
			return skipped(NoGroup)
		}
		for _, m := range r.Members {
			t.setRole(g, r.GroupID, m.Member, m.Role)
		}
		change(t, &g.defaults, &r.Defaults, rowRef{kind: rowDefaults, group: r.GroupID})
		t.raise(g, &g.membersRevision)
	case codec.RootInvitationRevoked, codec.RootKeyDelivery, codec.RootKeyDelivered:
		if t.groups[r.GroupID] == nil {
			return skipped(NoGroup)
		}
	}
	return Verdict{Outcome: Effective}
}

// add puts a new group into the tree.
func (t *tree) add(r *codec.RootOp) {
	s := newState(r)
	set(t, t.groups, r.GroupID, s)
	t.touchAll(r.GroupID, s)
	t.undone(func() { t.touchAll(r.GroupID, s) })
}

func newState(r *codec.RootOp) *state {
	return &state{parent: r.ParentID, meta: codec.GroupMetaValue{AppKey: r.AppKey, TargetApplicationID: r.TargetApplicationID,
		UpgradePolicy: r.UpgradePolicy, CreatedAt: r.CreatedAt},
		names: map[codec.Identity]codec.AliasName{}, named: map[codec.AliasName]codec.Identity{}, roles: map[codec.Identity]codec.GroupMemberRole{},
		contexts: map[codec.ContextID]*contextState{}}
}

// depth returns how far below the namespace a group is.
func (t *tree) depth(g codec.GroupID) (n int) {
	for ; g != t.namespace; g = t.groups[g].parent {
		n++
	}
	return n
}

// below reports whether g is root or below it.
func (t *tree) below(g, root codec.GroupID) bool {
	for g != root && g != t.namespace {
		g = t.groups[g].parent
	}
	return g == root
}

// reach returns how far below root its lowest group is.
func (t *tree) reach(root codec.GroupID) (n int) {
	for g := range t.groups {
		if t.below(g, root) {
			n = max(n, t.depth(g)-t.depth(root))
		}
	}
	return n
}

func (t *tree) reparent(r *codec.RootOp) Verdict {
	switch {
	case t.groups[r.GroupID] == nil || t.groups[r.ParentID] == nil:
		return skipped(NoGroup)
	case t.below(r.ParentID, r.GroupID):
		return skipped(Cycle)
	case t.depth(r.ParentID)+1+t.reach(r.GroupID) > maxDepth:
		return skipped(TooDeep)
	case t.sameName(r.ParentID, r.GroupID, t.groups[r.GroupID].name):
		return skipped(NameTaken)
	}
	g := t.groups[r.GroupID]
	change(t, &g.parent, r.ParentID, rowRef{kind: rowParent, group: r.GroupID}, child(g.parent, r.GroupID), child(r.ParentID, r.GroupID))
	return Verdict{Outcome: Effective}
}

// sameName reports whether a group below parent other than g has that name.
func (t *tree) sameName(parent, g codec.GroupID, name codec.AliasName) bool {
	for id, s := range t.groups {
		if name != "" && id != g && s.parent == parent && s.name == name {
			return true
		}
	}
	return false
}

// remove takes a group and all below it out of the tree, with their contexts.
func (t *tree) remove(root codec.GroupID) {
	var gone []codec.GroupID
	for g := range t.groups {
		if t.below(g, root) {
			gone = append(gone, g)
		}
	}
	for _, g := range gone {
		s := t.groups[g]
		t.touchAll(g, s)
		t.undone(func() { t.touchAll(g, s) })
		for c := range s.contexts {
			unset(t, t.homes, c)
		}
		unset(t, t.groups, g)
		t.removed[g] = true
	}
}

// setRole notes the role of a member; that it is Admin is for the grants to say.
func (t *tree) setRole(g *state, id codec.GroupID, m codec.Identity, role codec.GroupMemberRole) {
	if role != codec.Admin {
		set(t, g.roles, m, role, rowRef{kind: rowMember, group: id, who: m})
	}
}

// count raises the revisions that the contexts of a group share.
func (t *tree) count(g *state, op *Op) {
	switch op.Body.Kind {
	case codec.OpMemberAdded, codec.OpMemberRemoved, codec.OpMembersRemoved, codec.OpMemberLeft, codec.OpMemberRoleSet, codec.OpAdminTransferred:
		t.raise(g, &g.membersRevision)
	case codec.OpTargetApplicationSet:
		t.raise(g, &g.applicationRevision)
	}
}

// raise raises one of the revisions that all contexts of g have.
func (t *tree) raise(g *state, revision *uint64) {
	var at []rowRef
	for c := range g.contexts {
		at = append(at, rowRef{kind: rowConfig, context: c})
	}
	change(t, revision, *revision+1, at...)
}

// claim returns which group has a context.
func (t *tree) claim(c codec.ContextID) (claim Claim, ok bool) {
	home, ok := t.homes[c]
	if !ok {
		return Claim{}, false
	}
	g := t.groups[home]
	own := g.contexts[c]
	return Claim{Group: home, Number: own.number, Config: codec.ContextConfigValue{
		ApplicationRevision: g.applicationRevision + own.config.ApplicationRevision,
		MembersRevision:     g.membersRevision + own.config.MembersRevision}}, true
}

func (t *tree) claims() iter.Seq2[codec.ContextID, Claim] {
	return func(yield func(codec.ContextID, Claim) bool) {
		for c := range t.homes {
			if claim, ok := t.claim(c); ok && !yield(c, claim) {
				return
			}
		}
	}
}
