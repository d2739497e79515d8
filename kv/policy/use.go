package policy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// UseOptions say what an answer leaves behind. The zero UseOptions are a use of the
// delegation that allows it, and nothing else.
type UseOptions struct {
	Durability engine.Durability
	// DryRun has no delegation used.
	DryRun bool
	// Log has the ledger say what was decided, for the intent.
	Log    bool
	Intent string
	// AskFor makes an approval request, if a person has to decide, that is good for so
	// long; 0: none.
	AskFor time.Duration
	// Approval is a request that was approved, for the same agent, action and context: it
	// stands for the approval that is wanted, once. "": none.
	Approval string
}

// Used is an answer and what it has left behind.
type Used struct {
	Decision
	Event    string `json:"event_id,omitempty"`    // of the ledger
	Approval string `json:"approval_id,omitempty"` // the request that was made
}

// useAttempts is how often a question is decided anew because what it was decided by has
// changed before the answer was written.
const useAttempts = 32

// errOvertaken ends a batch that finds something else than was decided by.
var errOvertaken = errors.New("policy: what was decided by has changed")

// Use answers a question and counts a use of the delegation that allows it, in one batch
// with the ledger's event: of a delegation that may be used n times n answers are
// allowed, whoever asks at once. It returns record.ErrConflict where the records change
// again and again meanwhile.
func (s *Store) Use(ctx context.Context, tenant string, q Question, o UseOptions) (Used, error) {
	if o.Log && o.Intent == "" {
		return Used{}, &record.Error{Code: record.CodeValidation, Collection: Ledger, Field: "intent_id", Reason: "what the ledger says is said for an intent: name it"}
	}
	hash, inputs, err := contextHash(q.Context)
	if err != nil {
		return Used{}, err
	}
	q.Consume, q.approved = !o.DryRun, o.Approval != ""
	for range useAttempts {
		u := use{q: &q, o: &o, hash: hash, inputs: inputs}
		if err := s.asked(ctx, tenant, &q, u.decide); err != nil {
			return Used{}, err
		}
		if err := u.draft(s.records); err != nil {
			return Used{}, err
		}
		if u.leavesNothing() {
			return u.used, nil
		}
		err := s.records.Do(ctx, tenant, o.Durability, u.write)
		if !errors.Is(err, errOvertaken) {
			return u.used, err
		}
	}
	return Used{}, &record.Error{Code: record.CodeConflict, Reason: "the records that decide it change again and again: ask once more"}
}

// contextHash is the canonical form of a context, and its hash.
func contextHash(context map[string]any) (hash string, canonical json.RawMessage, err error) {
	if context == nil {
		context = map[string]any{}
	}
	if canonical, err = canonicalOf(context); err != nil {
		return "", nil, refusal(invalid("context", "it is no JSON: %v", err))
	}
	return hashOf(canonical), canonical, nil
}

// use is an answer on its way.
type use struct {
	q      *Question
	o      *UseOptions
	hash   string
	inputs json.RawMessage
	used   Used

	at         positions // what it was decided by
	agent      *Agent
	delegation *Delegation

	event, request *record.Draft
}

// decide answers by a world, and notes what has to be the same still when it is written.
func (u *use) decide(world *World, at positions) {
	u.used.Decision, u.at = world.Decide(u.q), at
	world.mu.RLock()
	defer world.mu.RUnlock()
	u.agent, u.delegation = world.agents[name(u.q.Agent)], world.delegations[u.used.Delegation]
}

// consumes reports whether a delegation is used.
func (u *use) consumes() bool { return u.used.Allowed && !u.o.DryRun }

// asks reports whether an approval request is made.
func (u *use) asks() bool { return u.used.Result == PendingApproval && u.o.AskFor > 0 }

// leavesNothing reports whether nothing is written, and no approval is to be looked at.
func (u *use) leavesNothing() bool {
	return !u.consumes() && u.event == nil && u.request == nil && (u.o.Approval == "" || !u.used.Allowed)
}

// draft prepares the records that are made.
func (u *use) draft(records *record.Store) (err error) {
	agent := name(u.q.Agent)
	if u.o.Log {
		tool, action, cut := strings.Cut(u.q.Action, ".")
		if !cut {
			action = tool
		}
		outputs, err := json.Marshal(u.used.Decision)
		if err != nil {
			return err
		}
		verdict := map[string]any{"result": u.used.Result}
		optional(verdict, "policy_id", u.used.Policy)
		optional(verdict, "rule_matched", u.used.Rule)
		event := map[string]any{"intent_id": u.o.Intent, "agent_id": agent, "tool": tool, "action": action,
			"inputs_hash": u.hash, "outputs": json.RawMessage(outputs), "policy_decision": verdict, "notes": u.used.Reason}
		if u.used.Delegation != "" {
			event["metadata"] = map[string]any{"delegation_id": u.used.Delegation}
		}
		if u.event, err = drafted(records, Ledger, event); err != nil {
			return err
		}
	}
	if u.asks() {
		request := map[string]any{"agent_id": agent, "action": u.q.Action, "context_hash": u.hash, "reason": u.used.Reason,
			"expires_at": document.FormatInstant(u.q.Time.Add(u.o.AskFor))}
		optional(request, "intent_id", u.o.Intent)
		optional(request, "policy_id", u.used.Policy)
		optional(request, "rule_matched", u.used.Rule)
		u.request, err = drafted(records, Approvals, request)
	}
	return err
}

func optional(doc map[string]any, field, text string) {
	if text != "" {
		doc[field] = text
	}
}

func drafted(records *record.Store, collection string, doc map[string]any) (*record.Draft, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return records.Draft(collection, text)
}

// write leaves behind what the answer says.
func (u *use) write(tx *record.Tx) error {
	if u.used.Allowed {
		if err := u.still(tx); err != nil {
			return err
		}
		if err := u.takeApproval(tx); err != nil {
			return err
		}
	}
	if u.consumes() {
		if err := u.consume(tx); err != nil {
			return err
		}
	}
	if u.event != nil {
		d, err := tx.Insert(u.event)
		if err != nil {
			return err
		}
		u.used.Event = d.ID
	}
	if u.request != nil {
		d, err := tx.Insert(u.request)
		if err != nil {
			return err
		}
		u.used.Approval = d.ID
	}
	return nil
}

// still reports whether policies, settings and the agent are what was decided by.
func (u *use) still(tx *record.Tx) error {
	for i, name := range followedCollections {
		if kinds[i] != KindPolicy && kinds[i] != KindSettings {
			continue
		}
		revision, err := tx.Revision(name)
		if err != nil {
			return err
		}
		if revision != u.at[i].revision {
			return errOvertaken
		}
	}
	d, err := tx.Get(Agents, name(u.q.Agent))
	switch {
	case errors.Is(err, record.ErrNotFound):
		if u.agent != nil {
			return errOvertaken
		}
		return nil
	case err != nil:
		return err
	case u.agent == nil || u.agent.content != contentOfAgent(d.JSON):
		return errOvertaken
	}
	return nil
}

// consume counts a use of the delegation, if it still is the one that allows it.
func (u *use) consume(tx *record.Tx) error {
	d, err := tx.Get(Delegations, u.used.Delegation)
	if errors.Is(err, record.ErrNotFound) {
		return errOvertaken
	}
	if err != nil {
		return err
	}
	if u.delegation == nil || u.delegation.content != contentOfDelegation(d.JSON) || !tx.InForce(Delegations, d) || exhausted(d) {
		return errOvertaken
	}
	uses, _ := number(d, "uses_count")
	_, err = note(tx, Delegations, d.ID, map[string]any{"uses_count": uses + 1})
	return err
}

// note sets fields of a record that the store itself says, and returns it.
func note(tx *record.Tx, collection, id string, fields map[string]any) (record.Doc, error) {
	canonical, err := canonicalOf(fields)
	if err != nil {
		return record.Doc{}, err
	}
	return tx.Note(collection, id, canonical)
}

// canonicalOf is the canonical form of a value.
func canonicalOf(value any) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return document.Canonical(text)
}
