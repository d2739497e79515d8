package policy

import (
	"strings"
	"time"
)

// Question asks whether somebody may do something.
type Question struct {
	// Agent is who asks, as agent:NAME, user:NAME or org:NAME. A name without a colon is an
	// agent's.
	Agent string
	// Action is what they want to do, as email.send; no pattern.
	Action string
	// Context is what conditions are asked of, as encoding/json reads it: see
	// condition.Env. It is not changed.
	Context map[string]any
	// Time is the moment that is asked about.
	Time time.Time
	// Consume says that the answer is to use a delegation up. It changes
	// what is said, not what is decided: that a delegation is exhausted.
	Consume bool

	// approved says that a person has approved it: what wants approval allows it.
	approved bool
}

// Result is what a decision comes to.
type Result uint8

// The results.
const (
	Allowed Result = iota + 1
	Denied
	PendingApproval
	Transformed
)

var resultNames = [...]string{"", "allowed", "denied", "pending_approval", "transformed"}

// String returns the result as records have it; "" for the zero Result.
func (r Result) String() string { return resultNames[r] }

// MarshalText returns the result as records have it.
func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Decision is the answer to a question: what decided, and why.
type Decision struct {
	// Allowed is whether it may be done now: the result is Allowed, or Transformed, by
	// which the caller is to run a function first.
	Allowed bool   `json:"allowed"`
	Result  Result `json:"result"`
	Reason  string `json:"reason"`
	// Policy and Rule are what decided; ByDelegation or ByAgent where one of those wants
	// approval; "" where no policy had a say.
	Policy string `json:"policy_id,omitempty"`
	Rule   string `json:"rule_matched,omitempty"`
	// Transform is the function that the caller is to run, where that is the result.
	Transform string `json:"transform_fn,omitempty"`
	// Delegation is the one that covers the action, which a use counts for.
	Delegation string `json:"delegation_id,omitempty"`
}

// What Decision.Policy has where approval is wanted by a delegation, or by the agent's own
// configuration.
const (
	ByDelegation = "delegation"
	ByAgent      = "agent"
)

// Reasons of decisions that no rule gives one for.
const (
	ReasonNoDelegation  = "No delegation for this action"
	ReasonApproval      = "Requires human approval"
	ReasonApproved      = "Approved by a person"
	ReasonNoPolicy      = "No policy restriction"
	ReasonDefaultDeny   = "No policy allows this action"
	ReasonAgentDisabled = "agent disabled"
	ReasonAgentPending  = "agent pending"
	ReasonExhausted     = "exhausted"
	ReasonNoAction      = "not the name of an action"
)

// name is by what agents and delegates are found: an agent's name, or a principal of
// another kind with its prefix.
func name(principal string) string { return strings.TrimPrefix(principal, "agent:") }
