package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// The states of an approval that are not of tasks too.
const (
	Pending   = "PENDING"
	Delegated = "DELEGATED"
	Closed    = "CLOSED" // no answer is needed any more
)

// ownOfApproval are the fields of an approval that only the methods of Store change.
var ownOfApproval = []string{"status", "reviewer_id", "delegated_to", "delegation_chain", "no_delegation", "escalations", "overdue", "queue",
	"due_at", "responded_at", "response_action", "response_reason", "reviewed_by"}

// checkApproval refuses changes that others than this store would make.
func (s *Store) checkApproval(_ *record.Tx, old, changed record.Doc) error {
	if s.within {
		return nil
	}
	if old.JSON == nil || changed.JSON == nil {
		return record.Precondition("collection", "approvals are made by the Approval service, which tells of it, and never deleted: use that")
	}
	for _, field := range ownOfApproval {
		if !bytes.Equal(at(old, field), at(changed, field)) {
			return refuse(record.CodeImmutable, "", field, "who is asked, and what they have answered, is for the Approval service to change")
		}
	}
	return nil
}

// bonus is what a priority adds to the score of an approval in its user's queue.
var bonus = map[string]int64{"LOW": 0, "NORMAL": 100, "HIGH": 500, "URGENT": 1000}

// prepares are what documents are made to be before their schema is asked.
var prepares = map[string]func(json.RawMessage) (json.RawMessage, error){
	Approvals:   queued,
	Delegations: notToOneself,
}

// queued says where an approval stands in the queues: nowhere once it has an answer.
func queued(doc json.RawMessage) (json.RawMessage, error) {
	d, place := record.Doc{JSON: doc}, document.Path{"queue"}
	due, err := document.ParseInstant(text(d, "due_at"))
	if !open(d) || err != nil {
		return document.Merge(doc, document.With(nil, place, json.RawMessage("null"))), nil
	}
	rank := -(number(d, "risk_score")*10 + bonus[text(d, "priority")])
	return document.With(doc, place, fields{"user": holder(d), "rank": rank, "due": due.Unix()}.json()), nil
}

// open reports whether an approval waits for an answer; so does one without a status, which
// is new.
func open(d record.Doc) bool {
	status := text(d, "status")
	return status == Pending || status == Delegated || status == ""
}

// holder is who is asked now.
func holder(d record.Doc) string {
	if to := text(d, "delegated_to"); to != "" {
		return to
	}
	return text(d, "reviewer_id")
}

// Asking is who is asked about a task.
type Asking struct {
	// Approvals are documents of the collection, with a reviewer_id each, and what else is
	// the caller's to say: approval_id, reviewer_name, priority, risk_score, due_at,
	// on_timeout, escalate_to.
	Approvals []json.RawMessage
	// Required is how many of all approvals of the round are needed; 0: what was said before,
	// or all of them.
	Required int
}

// Request asks people about a task, which comes to its review by it, or is there: in one
// batch. The approvals that are returned are delegated already where a policy of the
// reviewer says so. It returns record.ErrNotFound; record.ErrPrecondition for a task in
// another state; record.ErrTooLarge for more than MaxApprovals in the round;
// record.ErrAlreadyExists for a reviewer that is asked in it already.
func (s *Store) Request(ctx context.Context, tenant, task string, a Asking, o record.WriteOptions) (made []record.Doc, err error) {
	if len(a.Approvals) == 0 || len(a.Approvals) > MaxApprovals {
		return nil, tooMany(Approvals, "approvals", MaxApprovals, len(a.Approvals), "1 to %d approvals are asked for at once", MaxApprovals)
	}
	if a.Required < 0 || a.Required > MaxApprovals {
		return nil, malformed(Tasks, "required_count", "1 to %d approvals are required", MaxApprovals)
	}
	docs := make([]record.Doc, len(a.Approvals))
	for i, doc := range a.Approvals {
		if docs[i].JSON, err = asking(task, doc); err != nil {
			return nil, err
		}
	}
	err = s.do(ctx, tenant, o.Durability, func(u *turn) error {
		made = nil
		t, err := u.inReview(task, a.Required)
		if err != nil {
			return err
		}
		there, err := u.ofRound(t)
		if err != nil {
			return err
		}
		for _, d := range docs {
			one, err := u.request(t, d, there)
			if err != nil {
				return err
			}
			made, there = append(made, one), append(there, one)
		}
		return nil
	})
	return made, err
}

// asking is a new approval as its caller has it, with its task.
func asking(task string, doc []byte) (json.RawMessage, error) {
	canonical, err := object(Approvals, "doc", doc)
	if err != nil {
		return nil, err
	}
	given := record.Doc{JSON: canonical}
	for _, field := range append([]string{"round", "risk_level", "created_at"}, ownOfApproval...) {
		if field != "reviewer_id" && field != "due_at" && at(given, field) != nil {
			return nil, malformed(Approvals, field, "the store says it: leave it out of a request")
		}
	}
	if of := text(given, "task_id"); of != "" && of != task {
		return nil, malformed(Approvals, "task_id", "the request is for the task %s", task)
	}
	return document.With(canonical, document.Path{"task_id"}, document.FromText(task)), nil
}

// inReview returns a task whose review there is, or begins.
func (u *turn) inReview(task string, required int) (t record.Doc, err error) {
	if t, err = u.Get(Tasks, task); err != nil {
		return t, err
	}
	switch state := text(t, "state"); state {
	case Submitted:
		t, err = u.move(t, &Move{To: Reviewing, By: system})
	case Reviewing:
	default:
		err = refuse(record.CodePrecondition, Tasks, "state", "people are asked about a task that is %s or %s; this one is %s", Submitted, Reviewing, state)
	}
	if err == nil && required != 0 {
		t, err = u.Update(Tasks, task, fields{"required_count": required}.json(), record.UpdateOptions{})
	}
	return t, err
}

// ofRound returns the approvals of the present round of a task's review.
func (u *turn) ofRound(t record.Doc) ([]record.Doc, error) {
	list, _, err := u.Find(Approvals, record.Filter{Index: "by_task", Equal: []json.RawMessage{document.FromText(t.ID), roundOf(t)}}, MaxApprovals)
	return list, err
}

// roundOf is the round of a task's review, as JSON.
func roundOf(t record.Doc) json.RawMessage {
	if round := at(t, "round"); round != nil {
		return round
	}
	return json.RawMessage("0")
}

// request makes one approval, beside those that are there in the round.
func (u *turn) request(t, d record.Doc, there []record.Doc) (made record.Doc, err error) {
	if len(there) >= MaxApprovals {
		return made, tooMany(Approvals, "task_id", MaxApprovals, len(there)+1, "a round of a task's review has at most %d approvals", MaxApprovals)
	}
	for _, other := range there {
		if text(other, "reviewer_id") == text(d, "reviewer_id") {
			return made, refuse(record.CodeAlreadyExists, Approvals, "reviewer_id", "this reviewer is asked about the task already, by %s", other.ID)
		}
	}
	due, err := u.due(text(d, "due_at"))
	if err != nil {
		return made, err
	}
	set := fields{"due_at": document.FormatInstant(due), "round": json.RawMessage(roundOf(t))}.with("risk_level", text(t, "risk.level"))
	if at(d, "risk_score") == nil {
		set["risk_score"] = number(t, "risk.score")
	}
	d.JSON = document.Merge(d.JSON, set.json())
	if d.JSON, err = u.byPolicy(t, d); err != nil {
		return made, err
	}
	if made, err = u.Create(Approvals, d.JSON); err != nil {
		return made, err
	}
	if err = u.later(QueueApprovalTimeout, "approval_id", made.ID, due); err != nil {
		return made, err
	}
	return made, u.tell(StreamApprovals, EventApprovalCreated, of(made).with("to", text(made, "status")).with("reviewer_id", text(made, "reviewer_id")).with("delegated_to", text(made, "delegated_to")))
}

// due is when an answer is wanted, as a request says or as the tenant's configuration does.
func (u *turn) due(said string) (time.Time, error) {
	if said == "" {
		return u.Now().Add(u.set.ApprovalTimeout), nil
	}
	due, err := document.ParseInstant(said)
	switch {
	case err != nil:
		return due, malformed(Approvals, "due_at", "it is no instant")
	case !due.After(u.Now()):
		return due, malformed(Approvals, "due_at", "the moment is over: an answer takes some time")
	case due.After(u.Now().Add(u.set.ApprovalMaxTimeout)):
		return due, malformed(Approvals, "due_at", "it is later than the configuration allows, which is %s from now", u.set.ApprovalMaxTimeout)
	}
	return due, nil
}

// of is what events of an approval begin with.
func of(d record.Doc) fields { return fields{"approval_id": d.ID, "task_id": text(d, "task_id")} }

// Approval returns an approval, or record.ErrNotFound; one that is archived is read from the
// collection Archive.
func (s *Store) Approval(ctx context.Context, tenant, id string) (record.Doc, error) {
	return s.records.Get(ctx, tenant, Approvals, id)
}

// Archive moves an approval that was answered, or closed, thirty days ago or longer to the
// archive, and says whether it did.
func (s *Store) Archive(ctx context.Context, tenant, id string) (moved bool, err error) {
	err = s.do(ctx, tenant, 0, func(u *turn) error {
		moved, err = u.PutAside(Approvals, id)
		return err
	})
	return moved, err
}

// closeOpen closes what waits for an answer about a task that needs none any more.
func (u *turn) closeOpen(t record.Doc, why string) error {
	list, err := u.ofRound(t)
	if err != nil {
		return err
	}
	for _, d := range list {
		if !open(d) {
			continue
		}
		if _, err := u.ends(d, Closed, fields{"response_reason": why}, system); err != nil {
			return err
		}
	}
	return nil
}

// archived is what an approval in the archive is; record.ErrNotFound if it is not there.
func (u *turn) archived(id string, err error) (record.Doc, error) {
	if !errors.Is(err, record.ErrNotFound) {
		return record.Doc{}, err
	}
	d, aside := u.Get(Archive, id)
	if aside != nil {
		return d, err
	}
	return d, nil
}
