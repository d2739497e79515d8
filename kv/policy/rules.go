package policy

import (
	"time"

	"github.com/stoadb/stoa/kv/policy/condition"
)

// Agent is what decisions need of an agent's record. One that is not in the world is
// taken for active: its delegations say what it may do.
type Agent struct {
	ID     string
	Status AgentStatus
	// RequireApproval are the actions that a person has to approve whatever
	// delegations say: require_human_approval_for of its config.
	RequireApproval []Pattern

	content content // by which the store sees that it has changed
}

// AgentStatus says whether an agent may act.
type AgentStatus uint8

// The states of an agent. Only an active one may do anything.
const (
	AgentActive AgentStatus = iota + 1
	AgentDisabled
	AgentPending
)

var agentStatuses = map[string]AgentStatus{"active": AgentActive, "disabled": AgentDisabled, "pending": AgentPending}

// Delegation is what decisions need of a delegation: who may do what for whom, within
// which bounds.
type Delegation struct {
	ID        string
	Delegator string
	Delegate  string // as agent:NAME, user:NAME; a name without a colon is an agent's
	Scope     []Pattern
	// RequireApproval are the actions of the scope that a person has to approve.
	RequireApproval []Pattern
	// From and Until bound the time in which it holds: From ≤ t < Until. The zero Time
	// is no bound.
	From, Until time.Time
	// MaxUses is how often it may be used where Limited, and Uses how often it was.
	Limited       bool
	MaxUses, Uses int64
	Conditions    []*condition.Program // all of which must be true
	Active        bool
	Revoked       bool

	content content // by which the store sees that it has changed
}

// Policy is what decisions need of a policy.
type Policy struct {
	ID     string
	Scope  Pattern
	Active bool
	Rules  []Rule // in the order in which they are given
}

// Rule says what happens to the actions of its policy's scope where its condition is true.
type Rule struct {
	ID        string
	Condition *condition.Program
	Action    Action
	Priority  int    // 0 to MaxPriority; the greater wins
	Reason    string // may be empty
	// Transform names the function that the caller is to run; with ActionTransform only.
	Transform string
}

// MaxPriority is the greatest priority of a rule.
const MaxPriority = 1000

// Action is what a rule does. Of two rules of one priority the one with the smaller
// Action wins.
type Action uint8

// What a rule can do.
const (
	ActionDeny Action = iota + 1
	ActionApproval
	ActionTransform
	ActionAllow
)

var actionNames = [...]string{ActionDeny: "deny", ActionApproval: "require_human_approval", ActionTransform: "transform", ActionAllow: "allow"}

// String returns the action as records have it.
func (a Action) String() string { return actionNames[a] }

// results are what a decision comes to by the rule that decides it.
var results = [...]Result{ActionDeny: Denied, ActionApproval: PendingApproval, ActionTransform: Transformed, ActionAllow: Allowed}

// Settings are what a tenant says where its records are silent. The zero value is that of
// one that has said nothing.
type Settings struct {
	DefaultDeny         bool `json:"default_deny"`          // what no policy speaks of is denied
	StrictChain         bool `json:"strict_chain"`          // agents delegate only what they hold
	AllowUnknownIntents bool `json:"allow_unknown_intents"` // the ledger takes events of intents that are not there
}
