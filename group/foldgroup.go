package group

import "github.com/stoadb/stoa/codec"

// applyToGroup folds an effective op of the group g, which is in the tree. What ops
// do to members is for the grants to say, but for the roles below Admin.
func (t *tree) applyToGroup(g *state, op *Op) Verdict {
	b := op.Body
	if g.contexts[b.ContextID] == nil && needsContext(b.Kind) {
		return skipped(NoContext)
	}
	switch b.Kind {
	case codec.OpMemberAdded, codec.OpMemberRoleSet:
		t.setRole(g, op.Group, b.Member, b.Role)
	case codec.OpDefaultCapabilitiesSet:
		change(t, &g.defaults, &b.Capabilities, rowRef{kind: rowDefaults, group: op.Group})
	case codec.OpUpgradePolicySet:
		meta := g.meta
		meta.UpgradePolicy = b.UpgradePolicy
		t.setMeta(g, op.Group, meta)
	case codec.OpTargetApplicationSet:
		meta := g.meta
		meta.AppKey, meta.TargetApplicationID = b.AppKey, b.TargetApplicationID
		t.setMeta(g, op.Group, meta)
	case codec.OpMigrationSet:
		meta := g.meta
		meta.Migration = b.Migration
		t.setMeta(g, op.Group, meta)
	case codec.OpUpgradeStarted, codec.OpUpgradeProgressed, codec.OpUpgradeCompleted:
		return t.applyUpgrade(g, op)
	case codec.OpContextRegistered, codec.OpContextPlaced:
		return t.register(g, op)
	case codec.OpContextDetached:
		t.detach(op.Group, b.ContextID)
	case codec.OpMemberAliasSet, codec.OpGroupAliasSet, codec.OpContextAliasSet:
		return t.applyName(g, op)
	default:
		t.applyToContext(g.contexts[b.ContextID], op)
	}
	return Verdict{Outcome: Effective}
}

func (t *tree) setMeta(g *state, id codec.GroupID, meta codec.GroupMetaValue) {
	change(t, &g.meta, meta, rowRef{kind: rowMeta, group: id})
}

// applyToContext folds what is set for a context, which is nil for other ops.
func (t *tree) applyToContext(c *contextState, op *Op) {
	b := op.Body
	at, config := rowRef{group: op.Group, context: b.ContextID}, rowRef{kind: rowConfig, context: b.ContextID}
	switch b.Kind {
	case codec.OpContextMigrated:
		at.kind = rowMigration
		change(t, &c.migration, &b.Method, at)
		change(t, &c.config.ApplicationRevision, c.config.ApplicationRevision+1, config)
	case codec.OpContextJoined:
		at.kind, at.who = rowJoined, op.Signer
		set(t, c.identities, op.Signer, b.Identity, at)
		change(t, &c.config.MembersRevision, c.config.MembersRevision+1, config)
	case codec.OpContextCapabilitySet:
		at.kind, at.who = rowMask, b.Member
		if b.Capability.Valid {
			set(t, c.masks, b.Member, b.Capability.V, at)
		} else {
			unset(t, c.masks, b.Member, at)
		}
		change(t, &c.config.MembersRevision, c.config.MembersRevision+1, config)
	}
}

// needsContext reports whether an op is about a context that the group must have.
func needsContext(k codec.GroupOpKind) bool {
	switch k {
	case codec.OpContextDetached, codec.OpContextMigrated, codec.OpContextAliasSet, codec.OpContextJoined, codec.OpContextCapabilitySet:
		return true
	default:
		return false
	}
}

// register gives a context to a group. From another group that has it only a placement
// takes it that goes before the other's; else the op is void, whatever group's key this
// node lacks: of those without a placement the first by (height, id) that it can read has
// the context.
func (t *tree) register(g *state, op *Op) Verdict {
	c, number := op.Body.ContextID, op.Body.Number
	if home, ok := t.homes[c]; ok && home != op.Group {
		if !(Claim{Group: op.Group, Number: number}).beats(Claim{Group: home, Number: t.groups[home].contexts[c].number}) {
			return Verdict{Void, ContextElsewhere}
		}
		t.detach(home, c)
	}
	if g.contexts[c] == nil {
		s := &contextState{identities: map[codec.Identity]codec.Identity{}, masks: map[codec.Identity]codec.ContextCapability{}}
		set(t, g.contexts, c, s, s.rowRefs(op.Group, c)...)
	}
	if s := g.contexts[c]; number > s.number {
		change(t, &s.number, number, rowRef{kind: rowHome, context: c})
	}
	set(t, t.homes, c, op.Group)
	return Verdict{Outcome: Effective}
}

// detach takes a context from the group that has it, with all that is set for it there.
func (t *tree) detach(id codec.GroupID, c codec.ContextID) {
	contexts := t.groups[id].contexts
	unset(t, contexts, c, contexts[c].rowRefs(id, c)...)
	unset(t, t.homes, c)
}

func (t *tree) applyUpgrade(g *state, op *Op) Verdict {
	b, at := op.Body, rowRef{kind: rowUpgrade, group: op.Group}
	if b.Kind == codec.OpUpgradeStarted {
		begun := &codec.GroupUpgradeValue{FromVersion: b.FromVersion, ToVersion: b.ToVersion, Migration: b.Migration,
			InitiatedAt: b.At, InitiatedBy: op.Signer, Status: codec.GroupUpgradeStatus{Total: b.Total}}
		change(t, &g.upgrade, begun, at)
		return Verdict{Outcome: Effective}
	}
	if g.upgrade == nil || g.upgrade.Status.Phase != codec.UpgradeInProgress {
		return skipped(NoUpgrade)
	}
	status := g.upgrade.Status
	if b.Kind == codec.OpUpgradeCompleted {
		change(t, &g.upgrade.Status, codec.GroupUpgradeStatus{Phase: codec.UpgradeCompleted, CompletedAt: b.At}, at)
		return Verdict{Outcome: Effective}
	}
	if b.Completed > status.Total || b.Failed > status.Total-b.Completed {
		return skipped(NoUpgrade)
	}
	status.Completed, status.Failed = b.Completed, b.Failed
	change(t, &g.upgrade.Status, status, at)
	return Verdict{Outcome: Effective}
}

// applyName sets or takes away a name. Members and contexts are looked up by name in
// their group, groups in their parent: there a name is unique.
func (t *tree) applyName(g *state, op *Op) Verdict {
	b, name := op.Body, op.Body.Name.V
	switch b.Kind {
	case codec.OpMemberAliasSet:
		at := rowRef{kind: rowMemberName, group: op.Group, who: b.Member}
		if m, taken := g.named[name]; b.Name.Valid && taken && m != b.Member {
			return skipped(NameTaken)
		}
		if old, has := g.names[b.Member]; has {
			unset(t, g.names, b.Member, at)
			unset(t, g.named, old)
		}
		if b.Name.Valid {
			set(t, g.names, b.Member, name, at)
			set(t, g.named, name, b.Member)
		}
	case codec.OpContextAliasSet:
		for id, c := range g.contexts {
			if b.Name.Valid && id != b.ContextID && c.name == name {
				return skipped(NameTaken)
			}
		}
		change(t, &g.contexts[b.ContextID].name, name, rowRef{kind: rowContextName, group: op.Group, context: b.ContextID})
	default:
		if op.Group != t.namespace && t.sameName(g.parent, op.Group, name) {
			return skipped(NameTaken)
		}
		change(t, &g.name, name, rowRef{kind: rowName, group: op.Group})
	}
	return Verdict{Outcome: Effective}
}
