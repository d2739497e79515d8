package setting

import (
	"strings"
	"time"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
)

// The names of settings. They are literal keys without what all of those begin with; a
// caller may write either.
const (
	LockDefaultTTL     = "config:lock:default_ttl"
	LockMaxTTL         = "config:lock:max_ttl"
	LockHeartbeat      = "config:lock:heartbeat_interval"
	LockAcquireLimit   = "config:lock:acquire_limit"
	ApprovalTimeout    = "config:approval:default_timeout"
	ApprovalMaxTimeout = "config:approval:max_timeout"
	TaskTimeout        = "config:task:default_timeout"
	RiskThresholds     = "config:risk:thresholds"

	AutoApproveLowRisk = "feature:auto_approve_low_risk"
	DeadlockDetection  = "feature:deadlock_detection"
	BatchApprovals     = "feature:batch_approvals"
)

// Prefix is what all literal keys of settings begin with.
const Prefix = "ade:"

// Bounds of values.
const (
	maxLock     = uint64(lock.MaxTTL / time.Second)         // seconds that a lock is held
	maxApproval = uint64(30 * 24 * time.Hour / time.Second) // seconds: an approval is there for as long
	maxTask     = uint64(90 * 24 * time.Hour / time.Second) // seconds: a task is there for as long
	maxAcquires = 10_000                                    // of an agent in a minute
	maxScore    = 100                                       // of a risk
)

// definition says what a setting is.
type definition struct {
	name  string
	about string
	plain string // its value where none is set, in canonical JSON
	// read puts a value in canonical form into what is gone by, or says what is wrong with it.
	read func(v *Values, value []byte) *Error
}

// definitions are the settings, in the order in which they are listed.
var definitions = []definition{
	{LockDefaultTTL, "how long a lock is held whose request does not say, in seconds", "30",
		seconds(maxLock, func(v *Values) *time.Duration { return &v.LockDefaultTTL })},
	{LockMaxTTL, "how long a lock is held at most, renewals included, in seconds", "3600",
		seconds(maxLock, func(v *Values) *time.Duration { return &v.LockMaxTTL })},
	{LockHeartbeat, "how often an agent that is registered is to be heard of, in seconds", "10",
		seconds(maxLock, func(v *Values) *time.Duration { return &v.LockHeartbeat })},
	{LockAcquireLimit, "how many locks an agent may ask for in any minute; 0 is no limit", "0",
		func(v *Values, value []byte) *Error { return whole(value, 0, maxAcquires, &v.LockAcquireLimit) }},
	{ApprovalTimeout, "how long an approval waits whose request does not say, in seconds", "172800",
		seconds(maxApproval, func(v *Values) *time.Duration { return &v.ApprovalTimeout })},
	{ApprovalMaxTimeout, "how long an approval may wait at most, in seconds", "2592000",
		seconds(maxApproval, func(v *Values) *time.Duration { return &v.ApprovalMaxTimeout })},
	{TaskTimeout, "how long a task is executed that does not say, in seconds", "3600",
		seconds(maxTask, func(v *Values) *time.Duration { return &v.TaskTimeout })},
	{RiskThresholds, "from which score on a risk is MEDIUM, HIGH and CRITICAL", `{"critical":75,"high":50,"medium":25}`,
		func(v *Values, value []byte) *Error { return thresholds(value, &v.Risk) }},
	{AutoApproveLowRisk, "whether what has a LOW risk may be approved by nobody", disabled,
		flag(func(v *Values) *bool { return &v.AutoApproveLowRisk })},
	{BatchApprovals, "whether many approvals may be answered in one call", disabled,
		flag(func(v *Values) *bool { return &v.BatchApprovals })},
	{DeadlockDetection, "whether a request for a lock is refused that would wait for itself", enabled,
		flag(func(v *Values) *bool { return &v.DeadlockDetection })},
}

// find returns what a name stands for, as literal keys have it or without what those begin
// with; braces are left out. It returns ErrValidation for a name that no setting has.
func find(name string) (*definition, error) {
	plain := strings.TrimPrefix(kv.Untagged(name), Prefix)
	for i := range definitions {
		if definitions[i].name == plain {
			return &definitions[i], nil
		}
	}
	names := make([]string, len(definitions))
	for i := range definitions {
		names[i] = Prefix + definitions[i].name
	}
	return nil, invalid("name", "there is no setting of this name; there are %s", strings.Join(names, ", "))
}
