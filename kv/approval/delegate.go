package approval

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// Delegation has somebody else asked.
type Delegation struct {
	Approval string
	By       string // who is asked now
	To       string
	Reason   string // for the event; at most MaxReason bytes
}

// Delegate has somebody else asked in the place of who is asked now, with the same score. It
// returns record.ErrNotFound; ErrForbidden for who is not asked, or may not delegate it
// further; ErrDelegationCycle for who was asked before; record.ErrTooLarge beyond MaxChain;
// ErrAlreadyResponded.
func (s *Store) Delegate(ctx context.Context, tenant string, g Delegation, d engine.Durability) (delegated record.Doc, err error) {
	if len(g.Reason) > MaxReason {
		return delegated, tooMany(Approvals, "reason", MaxReason, len(g.Reason), "the reason is too long")
	}
	if err := errors.Join(notSystem(Approvals, g.By), notSystem(Approvals, g.To)); err != nil {
		return delegated, err
	}
	err = s.do(ctx, tenant, d, func(u *turn) error {
		delegated, err = u.delegate(&g)
		return err
	})
	return delegated, err
}

func (u *turn) delegate(g *Delegation) (record.Doc, error) {
	d, err := u.Get(Approvals, g.Approval)
	if err != nil {
		return d, err
	}
	chain := texts(d, "delegation_chain")
	switch {
	case !open(d):
		return d, responded(d)
	case holder(d) != g.By:
		return d, refuse(CodeForbidden, Approvals, "delegated_to", "somebody else is asked: %s may delegate this one", holder(d))
	case is(d, "no_delegation"):
		return d, refuse(CodeForbidden, Approvals, "delegated_to", "the policy that it was delegated by does not cascade: answer it")
	case g.To == text(d, "reviewer_id") || slices.Contains(chain, g.To):
		return d, refuse(CodeDelegationCycle, Approvals, "delegated_to", "%s was asked before: %q", g.To, append([]string{text(d, "reviewer_id")}, chain...))
	case len(chain) == MaxChain:
		return d, tooMany(Approvals, "delegation_chain", MaxChain, len(chain)+1, "an approval is delegated at most %d times", MaxChain)
	}
	from, name := text(d, "status"), EventApprovalState
	if from == Delegated {
		name = EventApprovalDelegated
	}
	d, err = u.Update(Approvals, d.ID, fields{"status": Delegated, "delegated_to": g.To, "delegation_chain": append(chain, g.To)}.json(), record.UpdateOptions{})
	if err != nil {
		return d, err
	}
	return d, u.tell(StreamApprovals, name, of(d).with("from", from).with("to", Delegated).with("by", g.By).with("delegated_to", g.To).with("reason", g.Reason))
}

// byPolicy delegates a new approval as the policies of its reviewer say, of those whose
// conditions hold by the one that was made first; where that cascades, on by those of
// whom it is delegated to.
func (u *turn) byPolicy(t, d record.Doc) (json.RawMessage, error) {
	user, chain := text(d, "reviewer_id"), []string{}
	last := false
	for !last && len(chain) < MaxChain {
		policies, _, err := u.Find(Delegations, record.Equal("by_owner", user), maxPolicies)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(policies, func(p record.Doc) bool { return u.applies(p, t, d, chain) })
		if at < 0 {
			break
		}
		user = text(policies[at], "delegate_to")
		chain, last = append(chain, user), !is(policies[at], "cascade")
	}
	if len(chain) == 0 {
		return d.JSON, nil
	}
	set := fields{"status": Delegated, "delegated_to": user, "delegation_chain": chain}
	if last {
		set["no_delegation"] = true
	}
	return document.Merge(d.JSON, set.json()), nil
}

// applies reports whether a policy delegates an approval, to somebody who was not asked
// before.
func (u *turn) applies(p, t, d record.Doc, chain []string) bool {
	to := text(p, "delegate_to")
	if !u.InForce(Delegations, p) || to == text(d, "reviewer_id") || slices.Contains(chain, to) {
		return false
	}
	if types := texts(p, "conditions.task_types"); len(types) > 0 && !slices.Contains(types, text(t, "config.type")) {
		return false
	}
	return at(p, "conditions.risk_above") == nil || number(d, "risk_score") > number(p, "conditions.risk_above")
}

// notToOneself refuses a policy that delegates to its owner.
func notToOneself(doc json.RawMessage) (json.RawMessage, error) {
	if p := (record.Doc{JSON: doc}); text(p, "owner_id") == text(p, "delegate_to") {
		return nil, malformed("", "delegate_to", "it is the owner: there is nobody else to ask")
	}
	return doc, nil
}
