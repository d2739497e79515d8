package setting

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/stoadb/stoa/kv/document"
)

// Values are the settings of a tenant, as those go by them who act on them.
type Values struct {
	LockDefaultTTL, LockMaxTTL, LockHeartbeat time.Duration
	LockAcquireLimit                          int // of an agent in any minute; 0: no limit
	ApprovalTimeout, ApprovalMaxTimeout       time.Duration
	TaskTimeout                               time.Duration
	Risk                                      Thresholds
	AutoApproveLowRisk, DeadlockDetection     bool
	BatchApprovals                            bool
}

// Thresholds are the scores from which on a risk is of a level; what has less than Medium
// is LOW.
type Thresholds struct{ Medium, High, Critical int }

// The values of flags, in canonical JSON.
const (
	enabled  = `"enabled"`
	disabled = `"disabled"`
)

// defaults are the values of a tenant that has set nothing.
func defaults() (v Values) {
	for i := range definitions {
		_ = definitions[i].read(&v, []byte(definitions[i].plain)) // a test reads them all
	}
	return v
}

// bounded is v without a default that is more than its maximum.
func (v Values) bounded() Values {
	v.LockDefaultTTL = min(v.LockDefaultTTL, v.LockMaxTTL)
	v.ApprovalTimeout = min(v.ApprovalTimeout, v.ApprovalMaxTimeout)
	return v
}

// seconds reads a time of 1 to most seconds.
func seconds(most uint64, of func(*Values) *time.Duration) func(*Values, []byte) *Error {
	return func(v *Values, value []byte) *Error {
		var n int
		if err := whole(value, 1, most, &n); err != nil {
			return err
		}
		*of(v) = time.Duration(n) * time.Second
		return nil
	}
}

// whole reads an integer.
func whole(value []byte, least, most uint64, to *int) *Error {
	n, err := strconv.ParseUint(string(value), 10, 31)
	if err != nil || n < least || n > most {
		e := invalid("value", "it is to be a whole number from %d to %d", least, most)
		e.Limit = most
		return e
	}
	*to = int(n)
	return nil
}

// flag reads whether something is switched on.
func flag(of func(*Values) *bool) func(*Values, []byte) *Error {
	return func(v *Values, value []byte) *Error {
		on := string(value) == enabled
		if !on && string(value) != disabled {
			return invalid("value", `a feature is "enabled" or "disabled"`)
		}
		*of(v) = on
		return nil
	}
}

// thresholds reads the scores of the levels: ascending, all of them, and nothing else.
func thresholds(value []byte, to *Thresholds) *Error {
	var t Thresholds
	names := 0
	for range document.Names(value) {
		names++
	}
	below := 0
	for _, level := range []struct {
		name string
		to   *int
	}{{"medium", &t.Medium}, {"high", &t.High}, {"critical", &t.Critical}} {
		score := document.Field(value, document.Path{level.name})
		if whole(score, uint64(below)+1, maxScore, level.to) != nil || names != 3 {
			return invalid("value", `thresholds are {"medium":M,"high":H,"critical":C}, whole numbers with 1 <= M < H < C <= %d`, maxScore)
		}
		below = *level.to
	}
	*to = t
	return nil
}

// maxValue is how many bytes a value has at most.
const maxValue = 1024

// canonical returns the form in which a value of a setting is stored, or what is wrong with
// it.
func (d *definition) canonical(value []byte) (json.RawMessage, error) {
	if len(value) > maxValue {
		return nil, d.named(&Error{Code: CodeValidation, Field: "value", Limit: maxValue, Have: uint64(len(value)), Reason: "the value has too many bytes"})
	}
	out, err := document.Canonical(value)
	if err != nil {
		return nil, d.named(invalid("value", "%s", err))
	}
	var v Values
	if err := d.read(&v, out); err != nil {
		return nil, d.named(err)
	}
	return out, nil
}

func (d *definition) named(e *Error) *Error {
	e.Name = Prefix + d.name
	return e
}
