// Package policywire turns what package policy has into messages of the Policy service and
// back, for both ends.
package policywire

import (
	"encoding/json"
	"fmt"

	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

var (
	_ = op.Pair(FromDecision, Decision)
	_ = op.Pair(fromEventID, eventID)

	_ = op.Tags[policy.Used]("Event", "event_id", "Approval", "approval_id")
	_ = op.Tags[policy.Node]("Parts", ",optional")
	_ = op.Tags[policy.Grant]("Delegation", "delegation_id", "RequireApproval", "require_approval_for")
	_ = op.Tags[policy.Head]("At", "at_ms")
)

// FromDecision returns the answer to a question.
func FromDecision(d *policy.Decision) *stoav1.PolicyDecision {
	return &stoav1.PolicyDecision{Allowed: d.Allowed, Result: stoav1.PolicyResult(d.Result), Reason: d.Reason,
		PolicyId: d.Policy, RuleMatched: d.Rule, TransformFn: d.Transform, DelegationId: d.Delegation}
}

// Decision returns the answer to a question, which has a result.
func Decision(field string, m *stoav1.PolicyDecision) (policy.Decision, error) {
	r := m.GetResult()
	if r < stoav1.PolicyResult_POLICY_RESULT_ALLOWED || r > stoav1.PolicyResult_POLICY_RESULT_TRANSFORMED {
		return policy.Decision{}, &op.FieldError{Field: field + ".result", Reason: fmt.Sprintf("no result %d", int32(r))}
	}
	return policy.Decision{Allowed: m.GetAllowed(), Result: policy.Result(r), Reason: m.GetReason(), Policy: m.GetPolicyId(),
		Rule: m.GetRuleMatched(), Transform: m.GetTransformFn(), Delegation: m.GetDelegationId()}, nil
}

func fromEventID(id *policy.EventID) string {
	if *id == (policy.EventID{}) {
		return ""
	}
	return id.String()
}

func eventID(field, text string) (policy.EventID, error) {
	id, ok := policy.ParseEventID(text)
	if !ok && text != "" {
		return id, &op.FieldError{Field: field, Reason: "no id of an event"}
	}
	return id, nil
}

// Row is a record as a row for SQL.
type Row struct {
	Columns []string // the names of all columns; on the way out
	Values  []json.RawMessage
}

// Rows carry rows as messages, of which each names the columns.
var Rows = &op.Custom[stoav1.PolicyRowsResponse, []Row]{
	Fill: func(m *stoav1.PolicyRowsResponse, rows *[]Row) error {
		for _, r := range *rows {
			m.Columns = r.Columns
			one := &stoav1.PolicyRow{Values: make([][]byte, len(r.Values))}
			for i, value := range r.Values {
				one.Values[i] = value
			}
			m.Rows = append(m.Rows, one)
		}
		return nil
	},
	Parse: func(m *stoav1.PolicyRowsResponse, rows *[]Row) error {
		for _, one := range m.GetRows() {
			if len(one.GetValues()) != len(m.GetColumns()) {
				return &op.FieldError{Field: "rows", Reason: fmt.Sprintf("%d values of %d columns", len(one.GetValues()), len(m.GetColumns()))}
			}
			r := Row{Columns: m.GetColumns(), Values: make([]json.RawMessage, len(one.GetValues()))}
			for i, value := range one.GetValues() {
				r.Values[i] = value
			}
			*rows = append(*rows, r)
		}
		return nil
	},
}
