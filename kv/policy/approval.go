package policy

import (
	"context"
	"strings"
	"time"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// States of an approval request.
const (
	pending  = "pending"
	approved = "approved"
	rejected = "rejected"
)

// expiredReason is why a request is rejected whose time is over.
const expiredReason = "expired"

// expired reports whether a request was rejected because its time was over.
func expired(d record.Doc) bool {
	return text(d, "status") == rejected && text(d, "decided_by") == system
}

// over reports whether the time of a request has come.
func over(d record.Doc, now time.Time) bool {
	at, err := document.ParseInstant(text(d, "expires_at"))
	return err != nil || !now.Before(at)
}

// checkApproval refuses requests that are made with an answer, and answers that come too
// late, from whoever asks, or a second time.
func checkApproval(tx *record.Tx, old, changed record.Doc) error {
	if changed.JSON == nil {
		return nil
	}
	return answering(old, changed, tx.Now())
}

// answering is checkApproval at a time; the JSON of old is nil for a new request.
func answering(old, changed record.Doc, now time.Time) error {
	status, by := text(changed, "status"), text(changed, "decided_by")
	if old.JSON == nil {
		if status != pending || text(changed, "used_at") != "" {
			return record.Precondition("status", "a request is pending until a user has answered it")
		}
		return nil
	}
	if text(old, "status") != pending {
		for _, field := range []string{"decided_by", "decided_reason", "decided_at"} {
			if text(old, field) != text(changed, field) {
				return &record.Error{Code: record.CodeImmutable, Field: field, Reason: "the request is answered, which is for good"}
			}
		}
		return nil
	}
	switch {
	case status == pending:
		return nil
	case over(old, now):
		if status != rejected || by != system {
			return record.Precondition("expires_at", "the time of the request is over: it is rejected")
		}
		return nil
	}
	return answerer(by)
}

// answerer refuses an answer of whoever is no user.
func answerer(by string) error {
	if !strings.HasPrefix(by, "user:") {
		return record.Precondition("decided_by", "a user answers a request, and no agent does")
	}
	return nil
}

// Answer approves a request, or rejects it, for a user; once. A request whose time is
// over is rejected whatever the answer, and returned so. It returns
// record.ErrNotFound; record.ErrIllegalTransition for one that has an answer;
// record.ErrPrecondition where it is no user who answers.
func (s *Store) Answer(ctx context.Context, tenant, id string, approve bool, by, reason string, o record.WriteOptions) (answered record.Doc, err error) {
	to := rejected
	if approve {
		to = approved
	}
	err = s.records.Do(ctx, tenant, o.Durability, func(tx *record.Tx) error {
		d, err := tx.Get(Approvals, id)
		if err != nil {
			return err
		}
		if expired(d) {
			answered = d
			return nil
		}
		if status := text(d, "status"); status != pending {
			return &record.Error{Code: record.CodeIllegalTransition, Collection: Approvals, Field: "status", Reason: "the request is " + status + " already"}
		}
		if err := answerer(by); err != nil {
			return err
		}
		state, who, why := to, by, reason
		if over(d, tx.Now()) {
			state, who, why = rejected, system, expiredReason
		}
		fields := map[string]any{"decided_by": who}
		optional(fields, "decided_reason", why)
		patch, err := canonicalOf(fields)
		if err != nil {
			return err
		}
		answered, err = tx.Transition(Approvals, id, state, patch, record.UpdateOptions{})
		return err
	})
	return answered, err
}

// Approval returns a request as it stands: one that nobody has answered in its time is
// rejected, also in the moment before the store has written that.
func (s *Store) Approval(ctx context.Context, tenant, id string) (record.Doc, error) {
	d, err := s.records.Get(ctx, tenant, Approvals, id)
	if err == nil && text(d, "status") == pending && over(d, s.kv.Now()) {
		d.JSON = document.With(d.JSON, document.Path{"status"}, document.FromText(rejected))
		d.JSON = document.With(d.JSON, document.Path{"decided_by"}, document.FromText(system))
		d.JSON = document.With(d.JSON, document.Path{"decided_reason"}, document.FromText(expiredReason))
	}
	return d, err
}

// takeApproval uses the approval that stands for the one that is wanted.
func (u *use) takeApproval(tx *record.Tx) error {
	if u.o.Approval == "" {
		return nil
	}
	d, err := tx.Get(Approvals, u.o.Approval)
	if err != nil {
		return err
	}
	switch {
	case text(d, "status") != approved || over(d, tx.Now()):
		return record.Precondition("approval", "the request is not approved, or its time is over")
	case text(d, "used_at") != "":
		return record.Precondition("approval", "the approval was used: it is good for once")
	case text(d, "agent_id") != name(u.q.Agent) || text(d, "action") != u.q.Action || text(d, "context_hash") != u.hash:
		return record.Precondition("approval", "the approval is for another agent, action or context")
	}
	if u.o.DryRun {
		return nil
	}
	_, err = note(tx, Approvals, d.ID, map[string]any{"used_at": document.FormatInstant(tx.Now())})
	return err
}
