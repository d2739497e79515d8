package redisdump

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What the source's defaults are, where a hash says nothing.
const (
	answerWithin = 48 * time.Hour
	previewLasts = 7 * 24 * time.Hour
)

// statuses are those of approvals, by the numbers that they had in the first version.
var statuses = map[string]string{"0": "PENDING", "1": "APPROVED", "2": "REJECTED", "3": "DELEGATED"}

// bonuses is what the priority adds to ten times the risk, in the score of a queue.
var bonuses = map[string]int{"LOW": 0, "NORMAL": 100, "HIGH": 500, "URGENT": 1000}

// approval translates a request. Its risk is what its score in the queue says, else that of
// its task.
func (t *translator) approval(name, id string, v *Value) error {
	if err := v.wanted(Hash); err != nil {
		return err
	}
	doc, err := typed(v.Fields, map[string]shape{"delegation_chain": listed, "risk_score": integer, "escalations": integer, "overdue": boolean})
	if err != nil {
		return err
	}
	for field, value := range doc { // as a hash says that there is none
		if value == "" {
			delete(doc, field)
		}
	}
	if number, ok := statuses[text(doc, "status")]; ok {
		doc["status"] = number
	}
	for _, field := range []string{"task_id", "reviewer_id", "status"} {
		if text(doc, field) == "" {
			return fmt.Errorf("it has no field %s", field)
		}
	}
	doc["approval_id"], doc["round"] = id, 1
	fallback(doc, "priority", "NORMAL")
	fallback(doc, "created_at", stamp(t.dump.Taken))
	created, err := time.Parse(time.RFC3339, text(doc, "created_at"))
	if err != nil {
		return fmt.Errorf("the field created_at: %q is no time such as 2026-03-18T15:30:00Z", shortened(text(doc, "created_at")))
	}
	fallback(doc, "due_at", stamp(created.Add(answerWithin)))
	if doc["risk_score"] == nil {
		if score, queued := t.risks[id]; queued {
			if risk := score - bonuses[text(doc, "priority")]; risk >= 0 && risk <= 1000 && risk%10 == 0 {
				doc["risk_score"] = risk / 10
			}
		}
	}
	if risk, ok := doc["risk_score"].(int); ok {
		doc["risk_level"] = levelOf(risk)
	}
	if text(doc, "responded_at") == "" && doc["status"] != "PENDING" && doc["status"] != "DELEGATED" {
		return errors.New("it has been answered, but has no field responded_at")
	}
	t.Approvals = append(t.Approvals, Document{t.at(name), id, encode(doc)})
	return nil
}

// levelOf is the level of a risk, by the thresholds that are the source's defaults.
func levelOf(score int) string {
	switch {
	case score < 25:
		return "LOW"
	case score < 50:
		return "MEDIUM"
	case score < 75:
		return "HIGH"
	}
	return "CRITICAL"
}

// delegation translates a delegation policy, whose id follows the last colon.
func (t *translator) delegation(name, rest string, v *Value) error {
	if err := v.wanted(Hash); err != nil {
		return err
	}
	at := strings.LastIndexByte(rest, ':')
	if at < 1 {
		return errors.New("the pattern has a user and a policy: ade:approval:delegation:USER:POLICY")
	}
	doc, err := typed(v.Fields, map[string]shape{"conditions": anyJSON, "cascade": boolean, "active": boolean})
	if err != nil {
		return err
	}
	doc["policy_id"] = rest[at+1:]
	fallback(doc, "owner_id", rest[:at])
	fallback(doc, "created_at", stamp(t.dump.Taken))
	if text(doc, "expires_at") == "" {
		delete(doc, "expires_at")
		if !v.Expires.IsZero() {
			doc["expires_at"] = stamp(v.Expires)
		}
	}
	t.Delegations = append(t.Delegations, Document{t.at(name), rest[at+1:], encode(doc)})
	return nil
}

// stamp is an instant as documents have it.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
